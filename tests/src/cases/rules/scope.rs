//! For whom a call fails.

use anyhow::ensure;

use crate::{
    cases::cases,
    guest::{
        command::{Background, inject, shell},
        state::wait_for_session,
        workload::counts,
    },
};

cases![
    a_security_hook_fails_for_one_name_only,
    a_process_is_hit_and_its_neighbour_is_not,
    descendants_of_a_process_are_hit_when_asked_for,
    a_user_is_hit_and_root_is_not,
    a_control_group_is_hit_with_what_is_below_it,
    an_exempt_process_cannot_be_named,
    a_command_can_run_as_another_user,
    guards_keep_kernel_threads_of_a_loop_device_alive,
];

fn a_security_hook_fails_for_one_name_only() -> anyhow::Result<()> {
    shell("echo text > /tmp/file")?;
    let ran = inject(
        "security_file_permission --errno EPERM --comm cat -- sh -c 'read x < /tmp/file && echo $x; cat /tmp/file'",
    )?;
    ensure!(ran.stdout == "text\n" && ran.status == 1, "{ran:#?}");
    // What cat has to say is a write, and refused as well.
    ensure!(ran.number_before("injected")? > 1, "{ran:#?}");
    ran.expect_stderr("mechanism  fmod-ret")?.expect_stderr("security_file_permission+0x")?;
    Ok(())
}

/// A shell that waits until a session is armed, and then does something. Waiting needs no open.
fn when_armed(then: &str) -> anyhow::Result<Background> {
    shell("rm -f /tmp/armed")?;
    Background::shell(&format!("while [ ! -e /tmp/armed ]; do sleep 0.1; done; {then}"))
}

fn armed() -> anyhow::Result<()> {
    wait_for_session("open")?;
    Ok(std::fs::write("/tmp/armed", "")?)
}

/// Two workloads, of which the session names one by its process id.
fn a_process_is_hit_and_its_neighbour_is_not() -> anyhow::Result<()> {
    let target = when_armed("exec inject-tests workload opens 500")?;
    let session = Background::inject(&format!(
        "sys:open --errno EMFILE --duration 40s --pid {}",
        target.0.id()
    ))?;
    armed()?;
    let neighbour = shell("inject-tests workload opens 500")?;
    ensure!(counts(&neighbour.stdout)? == (500, 0), "{neighbour:#?}");
    let target = target.end()?;
    ensure!(counts(&target.stdout)? == (500, 500), "{target:#?}");
    session.signal(nix::sys::signal::Signal::SIGINT)?;
    session.end()?.expect_status(0)?;
    Ok(())
}

fn descendants_of_a_process_are_hit_when_asked_for() -> anyhow::Result<()> {
    for (option, failed) in [("", 0), ("--descendants", 300)] {
        // The shell would become its last command, which is then no descendant.
        let target = when_armed("inject-tests workload opens 300; true")?;
        let session = Background::inject(&format!(
            "sys:open --errno EMFILE --allow-unused --duration 40s --pid {} {option}",
            target.0.id()
        ))?;
        armed()?;
        let target = target.end()?;
        ensure!(counts(&target.stdout)? == (300, failed), "{option}: {target:#?}");
        session.signal(nix::sys::signal::Signal::SIGINT)?;
        session.end()?.expect_status(0)?;
    }
    Ok(())
}

fn a_user_is_hit_and_root_is_not() -> anyhow::Result<()> {
    let session = Background::inject("sys:open --errno EMFILE --duration 40s --uid 65534")?;
    wait_for_session("open")?;
    let root = shell("inject-tests workload opens 200")?;
    let nobody = shell_as_nobody("inject-tests workload opens 200")?;
    ensure!(counts(&root.stdout)? == (200, 0), "{root:#?}");
    ensure!(counts(&nobody.stdout)? == (200, 200), "{nobody:#?}");
    session.signal(nix::sys::signal::Signal::SIGINT)?;
    session.end()?.expect_status(0)?;
    Ok(())
}

fn shell_as_nobody(line: &str) -> anyhow::Result<crate::guest::command::Ran> {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", line]).uid(65534).gid(65534);
    Ok(command.output()?.into())
}

fn a_control_group_is_hit_with_what_is_below_it() -> anyhow::Result<()> {
    shell("mkdir -p /sys/fs/cgroup/target/inner")?.expect_status(0)?;
    let session = Background::inject(
        "sys:open --errno EMFILE --duration 40s --cgroup /sys/fs/cgroup/target",
    )?;
    wait_for_session("open")?;
    let in_group = |group: &str| {
        shell(&format!(
            "echo $$ > /sys/fs/cgroup/{group}cgroup.procs; exec inject-tests workload opens 200"
        ))
    };
    let outside = in_group("")?;
    let (group, inner) = (in_group("target/")?, in_group("target/inner/")?);
    session.signal(nix::sys::signal::Signal::SIGINT)?;
    session.end()?.expect_status(0)?;
    shell("rmdir /sys/fs/cgroup/target/inner /sys/fs/cgroup/target")?.expect_status(0)?;
    ensure!(counts(&outside.stdout)? == (200, 0), "{outside:#?}");
    ensure!(counts(&group.stdout)? == (200, 200), "{group:#?}");
    ensure!(counts(&inner.stdout)? == (200, 200), "{inner:#?}");
    inject("sys:open --errno EMFILE --cgroup /tmp")?
        .expect_one_error(&["/tmp is not a control group", "/sys/fs/cgroup"])
}

fn an_exempt_process_cannot_be_named() -> anyhow::Result<()> {
    inject("sys:open --errno EMFILE --pid 1")?
        .expect_one_error(&["process 1 is exempt", "--pid"])?;
    inject(&format!("sys:open --errno EMFILE --pid {}", std::process::id()))?
        .expect_one_error(&["is exempt"])?;
    inject("sys:open --errno EMFILE --pid 4000000")?.expect_one_error(&["no process 4000000"])
}

fn a_command_can_run_as_another_user() -> anyhow::Result<()> {
    let ran = inject(
        "sys:open --errno EMFILE --user nobody -- sh -c 'id -u; inject-tests workload opens 5'",
    )?;
    ensure!(ran.stdout.starts_with("65534\n5 opens, 5 failed"), "{ran:#?}");
    inject("sys:open --errno EMFILE --user nosuch -- true")?
        .expect_one_error(&["no user 'nosuch'", "--user"])
}

/// A loop device's write makes allocations that must not fail; the guard keeps them from it, and the kernel is silent.
fn guards_keep_kernel_threads_of_a_loop_device_alive() -> anyhow::Result<()> {
    shell(
        "dd if=/dev/zero of=/tmp/disk bs=1M count=8 2>/dev/null && losetup /dev/loop0 /tmp/disk",
    )?
    .expect_status(0)?;
    let ran = inject(
        "should_failslab --rate 20% --kthreads --fail-on-warning --duration 8s --allow-system-wide -- \
         sh -c 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/loop0 bs=64k count=64; done; sync'",
    )?;
    shell("sync; losetup -d /dev/loop0; rm /tmp/disk")?;
    ensure!(ran.status != 125 && ran.status != 123, "{ran:#?}");
    ensure!(ran.number_before("injected")? > 0, "{ran:#?}");
    ensure!(!ran.stderr.contains("the kernel said"), "{ran:#?}");
    Ok(())
}
