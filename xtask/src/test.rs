//! `cargo xtask test`: all tests, ending in one line with the sum.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::cargo::cargo;
use crate::counts::Counts;
use crate::kernel::list::DEFAULT;
use crate::paths::Paths;
use crate::progress::duration;
use crate::run::run as run_logged;
use crate::vm::Guest;
use crate::vm_test::{Selection, run_in};

/// A boot with it is for tests of its own, see tests/src/guest/state.rs.
const BOOT_OPTION: &str = "failslab=1,1,0,0";

pub fn run(paths: &Paths) -> Result<Counts> {
    let started = Instant::now();
    // First what may ask: nobody wants to be asked after minutes of tests.
    let guest = Guest::prepare(paths, DEFAULT)?;
    let mut sum = unit_tests(paths)?;
    let everything = Selection { filters: &[], kaslr: true, append: &[] };
    let addresses = Selection { filters: &["kaslr".to_owned()], kaslr: false, append: &[] };
    let option = BOOT_OPTION.to_owned();
    let boot_option = Selection { append: &[option], ..everything };
    for selection in [&everything, &addresses, &boot_option] {
        sum += run_in(&guest, selection)?;
    }
    println!("all tests: {}", duration(started.elapsed()));
    Ok(sum)
}

/// The tests that need no kernel. What does not compile counts as one failure.
fn unit_tests(paths: &Paths) -> Result<Counts> {
    let log = paths.fresh_log("unit-tests")?;
    let started = Instant::now();
    if let Err(err) = run_logged("build the unit tests", cargo_test(paths).arg("--no-run"), &log) {
        println!("{err:#}");
        return Ok(Counts { passed: 0, failed: 1 });
    }
    let mut command = cargo_test(paths);
    command.args(["--quiet", "--no-fail-fast"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo test")?;
    let out = child.stdout.take().context("cargo's output is not piped")?;
    let mut counts = Counts::default();
    for line in BufReader::new(out).lines() {
        let line = line?;
        println!("{line}");
        if let Some(one) = Counts::of_line(&line) {
            counts += one;
        }
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        println!("cargo test failed ({status}) though no test did");
        counts.failed += 1;
    }
    eprintln!("unit tests: {}", duration(started.elapsed()));
    Ok(counts)
}

fn cargo_test(paths: &Paths) -> Command {
    let mut cargo = cargo(paths);
    cargo.args(["test", "--workspace"]);
    cargo
}
