//! Whom faults hit: the command and its descendants, nobody else.

use std::time::Duration;

use anyhow::ensure;
use inject::session::TIMEOUT;

use super::cases;
use crate::guest::{
    command::{Background, inject, inject_command, shell},
    state::{hooked, wait_for_session, within},
    workload::counts,
};

cases![
    a_neighbour_of_the_command_is_not_hit,
    descendants_are_hit_to_the_last,
    the_exec_of_the_command_itself_is_not_hit,
    a_duration_ends_the_faults_and_not_the_command,
    ctrl_c_without_a_command_is_a_good_end,
    a_stopped_inject_stops_injecting,
];

fn a_neighbour_of_the_command_is_not_hit() -> anyhow::Result<()> {
    let session = Background::inject(
        "sys:open --errno EMFILE -- \
         sh -c 'inject-tests workload burn 4000; inject-tests workload opens 10'",
    )?;
    wait_for_session("open")?;
    let neighbour = shell("inject-tests workload opens 5000")?;
    ensure!(counts(&neighbour.stdout)? == (5000, 0), "{neighbour:#?}");
    let ran = session.end()?.expect_status(0)?;
    ensure!(ran.stdout.contains("10 opens, 10 failed, errors {24}"), "{ran:#?}");
    ensure!(ran.number_before("calls")? >= 5010, "{ran:#?}");
    Ok(())
}

fn descendants_are_hit_to_the_last() -> anyhow::Result<()> {
    // A rate that forks and execs survive, and that 200 opens with several allocations each do not.
    for _ in 0..20 {
        let ran = inject("should_failslab --rate 0.5% -- inject-tests workload tree")?;
        if let Ok((200, failed @ 1..)) = counts(&ran.stdout) {
            ensure!(ran.number_before("injected")? >= failed, "{ran:#?}");
            return Ok(());
        }
    }
    anyhow::bail!("in 20 runs no open of the grandchild failed")
}

fn the_exec_of_the_command_itself_is_not_hit() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        // inject's own execve starts the shell; the shell's fails.
        let ran = inject(&format!(
            "sys:execve --errno EACCES --method {method} -- sh -c '/bin/inject-tests workload burn 1; exit 3'"
        ))?
        .expect_status(3)?
        .expect_stderr("Permission denied")?;
        ensure!(ran.number_before("injected")? == 1, "{ran:#?}");
    }
    Ok(())
}

fn a_duration_ends_the_faults_and_not_the_command() -> anyhow::Result<()> {
    let mut command = inject_command("sys:sethostname --errno EPERM --duration 1s --");
    command.args(["sh", "-c", "hostname early || sleep 4; hostname late && exit 7"]);
    let ran: crate::guest::command::Ran = command.output()?.into();
    let name = shell("hostname")?;
    shell("hostname inject")?;
    ensure!(ran.status == 7, "{ran:#?}");
    ensure!(ran.number_before("injected")? == 1, "{ran:#?}");
    ensure!(name.stdout.trim() == "late", "{name:#?}");
    Ok(())
}

fn ctrl_c_without_a_command_is_a_good_end() -> anyhow::Result<()> {
    let session = Background::inject("should_failslab --rate 1%")?;
    wait_for_session("should_failslab")?;
    shell("inject-tests workload opens 1000")?;
    session.signal(nix::sys::signal::Signal::SIGINT)?;
    session.end()?.expect_status(0)?.expect_stderr("Ctrl-C ends it")?.expect_stderr("injected")?;
    ensure!(hooked()?.is_empty());
    Ok(())
}

fn a_stopped_inject_stops_injecting() -> anyhow::Result<()> {
    use nix::sys::signal::Signal::{SIGCONT, SIGINT, SIGSTOP};
    let failed = || counts(&shell("inject-tests workload opens 300")?.stdout);
    let session = Background::inject("sys:open --errno EMFILE --allow-system-wide")?;
    wait_for_session("open")?;
    ensure!(failed()? == (300, 300), "not armed");
    session.signal(SIGSTOP)?;
    // The stated time, and a margin for a busy host.
    std::thread::sleep(TIMEOUT + Duration::from_secs(3));
    let stopped = failed();
    session.signal(SIGCONT)?;
    ensure!(stopped? == (300, 0), "a stopped inject goes on injecting");
    within(Duration::from_secs(10), || {
        ensure!(failed()? == (300, 300), "not armed again");
        Ok(())
    })?;
    session.signal(SIGINT)?;
    session.end()?.expect_status(0)?.expect_stderr("was stopped or starved")?;
    Ok(())
}
