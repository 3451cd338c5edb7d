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
    let with_boot_option = guest::state::booted_with(guest::state::BOOT_OPTION).unwrap_or(false);
    let skip = std::env::var("INJECT_SKIP").unwrap_or_default();
    // Under the boot option there are other tests, which hold everywhere.
    let skip: Vec<&str> =
        if with_boot_option { Vec::new() } else { skip.split_whitespace().collect() };
    let trials = trials(cases::all(with_boot_option), &skip);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// All but what the kernel's list skips. A line there that covers no test is a failure as well: it outlived its reason.
fn trials(cases: Vec<(String, cases::Case)>, skip: &[&str]) -> Vec<Trial> {
    let covers = |name: &str| skip.iter().any(|start| name.starts_with(start));
    let stale =
        skip.iter().filter(|start| !cases.iter().any(|(name, _)| name.starts_with(**start)));
    let stale: Vec<_> = stale
        .map(|start| {
            let name = format!("skip::{start}");
            Trial::test(name, || Err("vm/kernels.toml skips it, and there is no such test".into()))
        })
        .collect();
    let kept = cases.into_iter().filter(|(name, _)| !covers(name));
    kept.map(|(name, case)| Trial::test(name, move || run(case))).chain(stale).collect()
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
