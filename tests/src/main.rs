//! Tests of the command against a real kernel, run inside the VM by `cargo xtask vm-test`.
//!
//! Each reads as a sentence: given this kernel and this command, that is what a person sees. A test that cannot hold on
//! a kernel is listed in vm/kernels.toml, with the reason; nothing here skips itself.

mod cases;
mod guest;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    // The programs that tests run under injection are in this file as well, so that they need nothing of the guest.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("workload") {
        return guest::workload::run(&words.collect::<Vec<_>>());
    }
    let mut arguments = Arguments::from_args();
    // The kernel has one state, which tests change and look at.
    arguments.test_threads = Some(1);
    let trials = cases::all().into_iter().map(|(name, case)| Trial::test(name, move || run(case)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// A test begins and ends on a machine on which nothing is attached and no key is up.
fn run(case: cases::Case) -> Result<(), Failed> {
    guest::state::expect_clean().map_err(|error| format!("before the test: {error:#}"))?;
    let result = case();
    let clean = guest::state::expect_clean_soon();
    result.map_err(|error| format!("{error:#}"))?;
    clean.map_err(|error| format!("after the test: {error:#}"))?;
    Ok(())
}
