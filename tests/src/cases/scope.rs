//! Whom faults hit: the command and its descendants, nobody else.

use anyhow::ensure;

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
        "should_failslab --rate 50% --allow-unused -- inject-tests workload burn 4000",
    )?;
    wait_for_session("should_failslab")?;
    let neighbour = shell("inject-tests workload opens 5000")?;
    ensure!(counts(&neighbour.stdout)? == (5000, 0), "{neighbour:#?}");
    let ran = session.end()?.expect_status(0)?;
    ensure!(ran.number_before("calls")? > 5000, "{ran:#?}");
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
    for _ in 0..5 {
        // Every allocation fails, so an exec that were hit could not succeed. What a C library's start needs is on
        // the stack, and printing a line needs nothing.
        let ran = inject("should_failslab -- inject-tests workload burn 1")?;
        ensure!(ran.status == 0 || ran.status == 123, "{ran:#?}");
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
    let session = Background::inject("should_failslab --rate 10%")?;
    wait_for_session("should_failslab")?;
    let hit = shell("inject-tests workload opens 300")?;
    session.signal(SIGSTOP)?;
    // The stated time, and a margin for a busy host.
    std::thread::sleep(std::time::Duration::from_secs(6));
    let spared = shell("inject-tests workload opens 3000");
    session.signal(SIGCONT)?;
    ensure!(counts(&hit.stdout)?.1 > 0, "{hit:#?}");
    let spared = spared?;
    ensure!(counts(&spared.stdout)? == (3000, 0), "{spared:#?}");
    within(std::time::Duration::from_secs(10), || {
        let again = shell("inject-tests workload opens 300")?;
        ensure!(counts(&again.stdout)?.1 > 0, "not armed again");
        Ok(())
    })?;
    session.signal(SIGINT)?;
    session.end()?.expect_status(0)?.expect_stderr("was stopped or starved")?;
    Ok(())
}
