//! The steps of the demo, with its own workload.

use anyhow::ensure;

use super::cases;
use crate::guest::{
    command::{inject, shell},
    state::{expect_clean_soon, key_count},
};

cases![the_demo_shows_what_it_promises];

/// `N opens, M failed`.
fn failed(stdout: &str) -> anyhow::Result<u64> {
    let number = stdout.split(", ").nth(1).and_then(|part| part.split(' ').next());
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| anyhow::anyhow!("the workload printed '{stdout}'"))
}

fn the_demo_shows_what_it_promises() -> anyhow::Result<()> {
    shell("mkdir -p /demo && echo text > /demo/file")?;
    let listed = inject("list should_failslab")?.expect_status(0)?;
    ensure!(listed.stdout.contains("should_failslab_active  off"), "{listed:#?}");

    // At times a fault hits the shell's own start, which it does not survive; the demo types the command again as well.
    let mut ran = inject("should_failslab --rate 1% -- /demo/workload")?;
    for _ in 0..4 {
        if ran.status != 0 {
            ran = inject("should_failslab --rate 1% -- /demo/workload")?;
        }
    }
    let ran = ran.expect_status(0)?;
    ensure!(failed(&ran.stdout)? > 0, "{ran:#?}");
    ensure!(ran.stdout.contains("Cannot allocate memory"), "{ran:#?}");
    let ran = ran
        .expect_stderr("asked 1 %, observed ")?
        .expect_stderr("mechanism  kprobe-multi")?
        .expect_stderr("should_failslab_active: off -> on -> off")?;
    ensure!(ran.number_before("injected")? >= failed(&ran.stdout)?, "{ran:#?}");

    let without = shell("/demo/workload")?.expect_status(0)?;
    ensure!(failed(&without.stdout)? == 0, "{without:#?}");
    ensure!(key_count("should_failslab")? == 0);
    expect_clean_soon()
}
