//! `kill -9` in mid-injection: the kernel takes everything back.

use nix::sys::signal::Signal::SIGKILL;

use super::cases;
use crate::guest::{
    command::{Background, inject, shell},
    state::{expect_clean_soon, wait_for_session},
    workload::counts,
};

cases![
    kill_with_kprobe_multi_leaves_nothing,
    kill_with_fmod_ret_leaves_nothing,
    kill_of_a_system_wide_session_leaves_nothing,
    a_run_after_a_kill_works,
];

fn kill(arguments: &str) -> anyhow::Result<()> {
    let session = Background::inject(arguments)?;
    wait_for_session("should_failslab")?;
    session.signal(SIGKILL)?;
    expect_clean_soon()
}

/// The first calls are the program's start, which it would not survive.
const COMMAND: &str = "--when 300+ -- inject-tests workload opens-for 3";

fn kill_with_kprobe_multi_leaves_nothing() -> anyhow::Result<()> {
    kill(&format!("should_failslab --rate 1% --method kprobe-multi {COMMAND}"))
}

fn kill_with_fmod_ret_leaves_nothing() -> anyhow::Result<()> {
    kill(&format!("should_failslab --rate 1% --method fmod-ret {COMMAND}"))
}

fn kill_of_a_system_wide_session_leaves_nothing() -> anyhow::Result<()> {
    kill("should_failslab --rate 1%")
}

fn a_run_after_a_kill_works() -> anyhow::Result<()> {
    kill(&format!("should_failslab --rate 50% {COMMAND}"))?;
    let spared = shell("inject-tests workload opens 1000")?;
    anyhow::ensure!(counts(&spared.stdout)? == (1000, 0), "{spared:#?}");
    let ran = inject("should_failslab --rate 10% --when 300+ -- inject-tests workload opens 1500")?;
    anyhow::ensure!(ran.number_before("injected")? > 0, "{ran:#?}");
    Ok(())
}
