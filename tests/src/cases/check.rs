//! `inject check`: whether a fault can arrive, and if not, why.

use anyhow::{Context as _, ensure};

use super::cases;
use crate::guest::{
    command::{Ran, inject, shell},
    state::{kernel_is_keyed, links, programs},
};

cases![
    a_good_machine_is_told_to_be_one,
    a_function_is_told_with_its_calls_and_key,
    a_trial_proves_that_a_value_arrives,
    a_function_that_is_not_injectable_gets_the_nearest,
    hidden_addresses_name_the_sysctl,
    ftrace_off_names_the_sysctl,
    a_missing_helper_stops_functions_with_a_key_only,
    somebodys_trampoline_is_seen,
    json_has_a_version,
    without_root_it_says_what_it_can,
];

/// The line about something, after its mark.
fn line<'r>(ran: &'r Ran, name: &str) -> anyhow::Result<&'r str> {
    let found = ran.stdout.lines().find(|line| line.get(7..).is_some_and(|l| l.starts_with(name)));
    found.with_context(|| format!("no line about {name}: {ran:#?}"))
}

fn verdict(ran: &Ran, status: i32) -> anyhow::Result<()> {
    let words = if status == 0 { "A fault can arrive." } else { "No fault can arrive" };
    ensure!(ran.status == status, "status {}: {ran:#?}", ran.status);
    ensure!(ran.stdout.lines().last().is_some_and(|last| last.starts_with(words)), "{ran:#?}");
    ensure!(ran.stderr.is_empty(), "{ran:#?}");
    Ok(())
}

/// Each "no" ends with what to do.
fn every_no_has_an_advice(ran: &Ran) -> anyhow::Result<()> {
    let no =
        ran.stdout.lines().filter(|line| line.trim_start().to_lowercase().starts_with("no   "));
    for line in no {
        ensure!(line.contains("; "), "{line}");
    }
    Ok(())
}

fn a_good_machine_is_told_to_be_one() -> anyhow::Result<()> {
    let ran = inject("check")?;
    verdict(&ran, 0)?;
    for name in ["kprobe-multi", "override", "fmod-ret", "symbols", "debugfs", "image", "ftrace"] {
        ensure!(line(&ran, name)?.starts_with("  yes"), "{name}: {ran:#?}");
    }
    ensure!(links().is_empty() && programs().is_empty(), "something was left");
    Ok(())
}

fn a_function_is_told_with_its_calls_and_key() -> anyhow::Result<()> {
    let ran = inject("check should_failslab sys:mount security_file_open")?;
    verdict(&ran, 0)?;
    every_no_has_an_advice(&ran)?;
    let called = line(&ran, "called")?;
    let key = line(&ran, "key  ")?;
    if kernel_is_keyed()? {
        ensure!(called.ends_with(" guarded"), "{called}");
        ensure!(key.contains("should_failslab_active") && key.contains("off"), "{key}");
    } else {
        ensure!(called.ends_with(" unguarded"), "{called}");
    }
    Ok(())
}

fn a_trial_proves_that_a_value_arrives() -> anyhow::Result<()> {
    let ran = inject("check --try")?;
    verdict(&ran, 0)?;
    let arrived = ran.stdout.lines().filter(|line| line.contains("and the value arrived")).count();
    ensure!(arrived == 2, "{ran:#?}");
    Ok(())
}

fn a_function_that_is_not_injectable_gets_the_nearest() -> anyhow::Result<()> {
    let ran = inject("check vfs_mkdir")?;
    verdict(&ran, 123)?;
    let listed = line(&ran, "listed")?;
    ensure!(listed.starts_with("  NO") && listed.contains("sys:mkdir"), "{listed}");
    every_no_has_an_advice(&ran)
}

fn hidden_addresses_name_the_sysctl() -> anyhow::Result<()> {
    shell("echo 2 > /proc/sys/kernel/kptr_restrict")?.expect_status(0)?;
    let ran = inject("check should_failslab");
    shell("echo 0 > /proc/sys/kernel/kptr_restrict")?.expect_status(0)?;
    let ran = ran?;
    verdict(&ran, 123)?;
    let symbols = line(&ran, "symbols")?;
    ensure!(symbols.starts_with("  NO") && symbols.contains("kernel.kptr_restrict=1"), "{symbols}");
    // Hidden is not missing.
    ensure!(line(&ran, "kprobe-multi")?.starts_with("  ?"), "{ran:#?}");
    Ok(())
}

fn ftrace_off_names_the_sysctl() -> anyhow::Result<()> {
    shell("echo 0 > /proc/sys/kernel/ftrace_enabled")?.expect_status(0)?;
    let ran = inject("check");
    shell("echo 1 > /proc/sys/kernel/ftrace_enabled")?.expect_status(0)?;
    let ran = ran?;
    let ftrace = line(&ran, "ftrace")?;
    ensure!(ftrace.starts_with("  no") && ftrace.contains("kernel.ftrace_enabled=1"), "{ftrace}");
    Ok(())
}

fn a_missing_helper_stops_functions_with_a_key_only() -> anyhow::Result<()> {
    shell("rmmod inject_keys")?.expect_status(0)?;
    let keyed = inject("check should_failslab");
    let plain = inject("check sys:mount");
    shell("insmod /lib/modules/$(uname -r)/extra/inject_keys.ko")?.expect_status(0)?;
    let keyed = keyed?;
    verdict(&keyed, 123)?;
    ensure!(line(&keyed, "key  ")?.contains("modprobe inject_keys"), "{keyed:#?}");
    verdict(&plain?, 0)
}

fn somebodys_trampoline_is_seen() -> anyhow::Result<()> {
    let session = crate::guest::command::Background::inject(
        "should_fail_bio --errno EIO --method fmod-ret --rate 1%",
    )?;
    crate::guest::state::wait_for_session("should_fail_bio")?;
    let ran = inject("check should_fail_bio");
    session.signal(nix::sys::signal::Signal::SIGINT)?;
    session.end()?;
    let ran = ran?;
    let others = line(&ran, "others")?;
    ensure!(others.starts_with("  no") && others.contains("--method fmod-ret"), "{others}");
    Ok(())
}

fn json_has_a_version() -> anyhow::Result<()> {
    let ran = inject("check vfs_mkdir --json")?.expect_status(123)?;
    for part in ["\"schema\": \"inject-check\"", "\"version\": 1", "\"can_arrive\": false"] {
        ensure!(ran.stdout.contains(part), "{part} is missing: {ran:#?}");
    }
    Ok(())
}

fn without_root_it_says_what_it_can() -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt as _;
    let mut command = crate::guest::command::inject_command("check should_failslab");
    let ran: Ran = command.uid(65534).gid(65534).output()?.into();
    verdict(&ran, 123)?;
    ensure!(line(&ran, "rights")?.contains("sudo"), "{ran:#?}");
    ensure!(line(&ran, "symbols")?.starts_with("  ?"), "{ran:#?}");
    Ok(())
}
