//! `inject run`: functions fail as asked, by either mechanism.

use anyhow::ensure;

use super::cases;
use crate::guest::{
    command::{Background, inject, shell},
    state::hooked,
    workload::counts,
};

cases![
    every_program_loads,
    both_methods_fail_about_one_call_in_a_hundred,
    without_a_rate_every_call_fails,
    rate_zero_fails_nothing,
    the_automatic_choice_says_why,
    page_allocations_fail_as_well,
    a_system_call_fails_by_its_plain_name,
    two_functions_fail_in_one_session,
    a_minute_system_wide_keeps_the_rate,
    dry_run_touches_nothing,
];

/// Whether a count lies within 5 standard deviations of what a rate makes likely.
fn expect_rate(trials: u64, hits: u64, rate: f64) -> anyhow::Result<()> {
    let mean = trials as f64 * rate;
    let deviation = (mean * (1.0 - rate)).sqrt();
    ensure!(
        (hits as f64 - mean).abs() <= 5.0 * deviation,
        "{hits} of {trials}, where {mean:.0} ± {deviation:.0} are likely"
    );
    Ok(())
}

fn every_program_loads() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        inject(&format!("should_failslab --rate 0% --method {method} --allow-unused -- true"))?
            .expect_status(0)?;
    }
    Ok(())
}

fn both_methods_fail_about_one_call_in_a_hundred() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "should_failslab --rate 1% --when 300+ --method {method} -- inject-tests workload opens 20000"
        ))?
        .expect_status(0)?
        .expect_stderr(&format!("mechanism  {method} (asked for with --method)"))?;
        let (opens, failed) = counts(&ran.stdout)?;
        let (eligible, injected) = (ran.number_before("eligible")?, ran.number_before("injected")?);
        ensure!(opens == 20_000 && failed > 0, "{method}: {ran:#?}");
        ensure!(ran.stdout.contains("errors {12}"), "not ENOMEM: {ran:#?}");
        // Every failed open had an allocation that was made to fail; some of those have other users.
        ensure!(injected >= failed, "{method}: {ran:#?}");
        expect_rate(eligible, injected, 0.01)?;
    }
    Ok(())
}

fn without_a_rate_every_call_fails() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "sys:getpgid --errno EPERM --method {method} -- inject-tests workload opens 1"
        ))?;
        // Nobody calls it here, and that is what the status says.
        ran.expect_status(123)?.expect_stderr("never called")?;
        let ran =
            inject(&format!("sys:sethostname --errno EPERM --method {method} -- hostname other"))?;
        ensure!(ran.stderr.contains("Operation not permitted"), "{ran:#?}");
        ensure!(ran.number_before("injected")? == 1, "{ran:#?}");
    }
    Ok(())
}

fn rate_zero_fails_nothing() -> anyhow::Result<()> {
    let ran =
        inject("should_failslab --rate 0 -- inject-tests workload opens 2000")?.expect_status(0)?;
    ensure!(counts(&ran.stdout)? == (2000, 0), "{ran:#?}");
    ensure!(ran.number_before("injected")? == 0 && ran.number_before("in")? > 2000, "{ran:#?}");
    Ok(())
}

fn the_automatic_choice_says_why() -> anyhow::Result<()> {
    inject("should_failslab --rate 0% -- inject-tests workload opens 1")?
        .expect_status(0)?
        .expect_stderr("mechanism  kprobe-multi (one link for all functions)")?;
    Ok(())
}

fn page_allocations_fail_as_well() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "should_fail_alloc_page --rate 0.5% --method {method} -- \
             sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /bin/busybox; done > /tmp/pages'"
        ));
        // The shell itself may be hit; whether anything was is in the summary.
        let ran = ran?;
        ensure!(ran.number_before("injected")? > 0, "{method}: {ran:#?}");
    }
    shell("rm -f /tmp/pages")?;
    Ok(())
}

fn a_system_call_fails_by_its_plain_name() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "sys:mount --errno ENOTBLK --method {method} -- mount -t tmpfs none /mnt"
        ))?;
        ensure!(ran.stderr.contains("Block device required"), "{method}: {ran:#?}");
        ensure!(ran.number_before("injected")? >= 1, "{method}: {ran:#?}");
        ensure!(!shell("mount")?.stdout.contains(" /mnt "), "{method}: mounted all the same");
    }
    Ok(())
}

fn two_functions_fail_in_one_session() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "sys:mkdir sys:rmdir --errno EIO --method {method} -- sh -c 'mkdir /tmp/a; mkdir /tmp/b; rmdir /tmp'"
        ))?;
        let numbers: Vec<&str> =
            ran.stderr.lines().filter(|line| line.contains("injected")).collect();
        ensure!(numbers.len() == 2, "{method}: {ran:#?}");
        ensure!(
            numbers[0].contains("2 injected") && numbers[1].contains("1 injected"),
            "{method}: {ran:#?}"
        );
    }
    Ok(())
}

fn a_minute_system_wide_keeps_the_rate() -> anyhow::Result<()> {
    // Started before the faults begin: what hits a program's start kills it.
    let workloads = [
        Background::shell("exec inject-tests workload opens-for 55")?,
        Background::shell("exec inject-tests workload opens-for 55")?,
    ];
    let session =
        Background::inject("should_failslab --rate 1% --duration 60s --json -o /tmp/minute.json")?;
    crate::guest::state::wait_for_session("should_failslab")?;
    for workload in workloads {
        let ran = workload.end()?;
        ensure!(counts(&ran.stdout)?.1 > 0, "{ran:#?}");
    }
    session.end()?.expect_status(0)?;
    let report = std::fs::read_to_string("/tmp/minute.json")?;
    std::fs::remove_file("/tmp/minute.json")?;
    let summary: serde_json::Value = serde_json::from_str(report.lines().last().unwrap_or(""))?;
    let counts = &summary["functions"][0]["rules"][0]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    ensure!(count("eligible") > 100_000, "{report}");
    expect_rate(count("eligible"), count("injected"), 0.01)
}

fn dry_run_touches_nothing() -> anyhow::Result<()> {
    let ran = inject("should_failslab --rate 1% --dry-run -- touch /tmp/ran")?.expect_status(0)?;
    ensure!(ran.stdout.contains("should_failslab") && ran.stdout.contains("ENOMEM"), "{ran:#?}");
    ensure!(!std::path::Path::new("/tmp/ran").exists(), "the command ran");
    ensure!(hooked()?.is_empty());
    Ok(())
}
