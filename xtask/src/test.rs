//! `cargo xtask test`: all tests, ending in one line with the sum.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::cargo::cargo;
use crate::counts::Counts;
use crate::kernel::list::DEFAULT;
use crate::paths::Paths;
use crate::vm::Guest;
use crate::vm_test::{Selection, run_in};

pub fn run(paths: &Paths) -> Result<Counts> {
    // First what may ask: nobody wants to be asked after minutes of tests.
    let guest = Guest::prepare(paths, DEFAULT)?;
    let mut sum = unit_tests(paths)?;
    let everything = Selection { filters: &[], kaslr: true };
    let addresses = Selection { filters: &["kaslr".to_owned()], kaslr: false };
    for selection in [everything, addresses] {
        sum += run_in(&guest, &selection)?;
    }
    Ok(sum)
}

/// The tests that need no kernel. What does not compile counts as one failure.
fn unit_tests(paths: &Paths) -> Result<Counts> {
    let mut command = cargo(paths);
    command.args(["test", "--quiet", "--workspace", "--no-fail-fast"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let mut counts = Counts::default();
    let out = child.stdout.take().context("cargo's output is not piped")?;
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
    Ok(counts)
}
