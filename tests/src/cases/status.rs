//! The contract of exit statuses and streams.

use std::io::Write as _;

use anyhow::ensure;

use super::cases;
use crate::guest::command::{Background, inject, inject_command};

cases![
    the_commands_status_is_passed_on,
    a_signal_is_128_plus_its_number,
    a_missing_command_is_127_and_an_unusable_one_126,
    a_function_that_is_never_called_is_123,
    a_duration_without_a_command_is_0,
    the_command_keeps_its_streams,
    sigterm_is_passed_on,
];

const RUN: &str = "should_failslab --rate 0% --";

fn sh(line: &str) -> anyhow::Result<crate::guest::command::Ran> {
    Ok(inject_command(RUN).args(["sh", "-c", line]).output()?.into())
}

fn the_commands_status_is_passed_on() -> anyhow::Result<()> {
    for status in [0, 1, 42, 255] {
        sh(&format!("exit {status}"))?.expect_status(status)?;
    }
    Ok(())
}

fn a_signal_is_128_plus_its_number() -> anyhow::Result<()> {
    sh("kill -TERM $$")?.expect_status(128 + 15)?;
    sh("kill -KILL $$")?.expect_status(128 + 9)?;
    Ok(())
}

fn a_missing_command_is_127_and_an_unusable_one_126() -> anyhow::Result<()> {
    inject(&format!("{RUN} no-such-command"))?
        .expect_status(127)?
        .expect_stderr("no-such-command: No such file")?;
    inject(&format!("{RUN} /etc/passwd"))?
        .expect_status(126)?
        .expect_stderr("/etc/passwd: Permission denied")?;
    Ok(())
}

fn a_function_that_is_never_called_is_123() -> anyhow::Result<()> {
    let line = "sys:sethostname --errno EPERM --method fmod-ret";
    inject(&format!("{line} -- true"))?
        .expect_status(123)?
        .expect_stderr("attached, but never called")?;
    inject(&format!("{line} --allow-unused -- false"))?.expect_status(1)?;
    Ok(())
}

fn a_duration_without_a_command_is_0() -> anyhow::Result<()> {
    let ran =
        inject("should_failslab --rate 1% --duration 300ms --allow-unused")?.expect_status(0)?;
    ensure!(ran.stdout.is_empty(), "{ran:#?}");
    ran.expect_stderr("on for 300ms")?;
    Ok(())
}

fn the_command_keeps_its_streams() -> anyhow::Result<()> {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut command = inject_command(RUN);
    command.arg("cat").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let output = child.wait_with_output()?;
    writer.join().expect("writing does not panic")?;
    ensure!(output.stdout == bytes, "{} bytes of {} came back", output.stdout.len(), bytes.len());
    let ran = sh("echo out; echo err >&2")?;
    ensure!(ran.stdout == "out\n" && ran.stderr.starts_with("err\n"), "{ran:#?}");
    Ok(())
}

fn sigterm_is_passed_on() -> anyhow::Result<()> {
    let session = Background::inject(&format!("{RUN} sleep 60"))?;
    crate::guest::state::wait_for_session("should_failslab")?;
    session.signal(nix::sys::signal::Signal::SIGTERM)?;
    session.end()?.expect_status(128 + 15)?;
    Ok(())
}
