//! What a person, or a program, reads.

use anyhow::{Context as _, ensure};

use crate::{
    cases::cases,
    guest::command::{Ran, inject, shell},
};

cases![
    a_trace_names_each_injection_and_its_stack,
    a_file_takes_trace_and_summary,
    json_lines_have_version_and_kind,
    rate_zero_shows_which_calls_there_are,
    fewer_than_expected_is_123,
    never_eligible_is_123,
    the_kernel_log_tells_who_injected,
    a_users_line_in_the_kernel_log_is_no_warning,
    misses_are_counted_where_the_kernel_counts_them,
];

fn lines<'a>(ran: &'a Ran, part: &str) -> Vec<&'a str> {
    ran.stderr.lines().filter(|line| line.contains(part)).collect()
}

fn a_trace_names_each_injection_and_its_stack() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let ran = inject(&format!(
            "sys:getpgid --errno EAGAIN --when 2..4 --trace --method {method} -- inject-tests workload calls 9"
        ))?
        .expect_status(0)?;
        let injections = lines(&ran, "__x64_sys_getpgid = EAGAIN (call ");
        ensure!(injections.len() == 3, "{method}: {ran:#?}");
        ensure!(
            injections[0].contains("inject-tests") && injections[0].ends_with("(call 2)"),
            "{ran:#?}"
        );
        ensure!(lines(&ran, "do_syscall_64+0x").len() >= 3, "{method}: no stack: {ran:#?}");
    }
    Ok(())
}

fn a_file_takes_trace_and_summary() -> anyhow::Result<()> {
    let ran = inject(
        "sys:getpgid --errno EAGAIN --when 1 --trace -o /tmp/report -- inject-tests workload calls 2",
    )?
    .expect_status(0)?;
    let report = std::fs::read_to_string("/tmp/report")?;
    std::fs::remove_file("/tmp/report")?;
    ensure!(ran.stderr.is_empty(), "{ran:#?}");
    ensure!(report.contains("(call 1)") && report.contains("1 injected"), "{report}");
    inject("sys:getpgid --errno EAGAIN -o /no/such/folder -- true")?
        .expect_one_error(&["cannot write /no/such/folder"])
}

fn json_lines_have_version_and_kind() -> anyhow::Result<()> {
    let ran = inject(
        "sys:getpgid --errno EAGAIN --when 1..2 --trace --json -o /tmp/report -- inject-tests workload calls 5",
    )?
    .expect_status(0)?;
    let report = std::fs::read_to_string("/tmp/report")?;
    std::fs::remove_file("/tmp/report")?;
    ensure!(ran.stderr.is_empty(), "{ran:#?}");
    let objects: Vec<serde_json::Value> =
        report.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
    ensure!(kinds == ["start", "injection", "injection", "summary"], "{report}");
    ensure!(objects.iter().all(|object| object["version"] == 1), "{report}");
    ensure!(objects[1]["call"] == 1 && objects[1]["comm"] == "inject-tests", "{report}");
    let stack = objects[1]["stack"].as_array().context("no stack")?;
    ensure!(!stack.is_empty(), "{report}");
    let counts = &objects[3]["functions"][0]["rules"][0]["counts"];
    ensure!(
        counts["injected"] == 2 && counts["in_scope"] == 5 && counts["eligible"] == 2,
        "{report}"
    );
    Ok(())
}

fn rate_zero_shows_which_calls_there_are() -> anyhow::Result<()> {
    let ran = inject("sys:getpgid --errno EAGAIN --rate 0 -- inject-tests workload calls 7")?
        .expect_status(0)?;
    ensure!(ran.stdout.trim().is_empty(), "something failed: {ran:#?}");
    let stacks = lines(&ran, "(first: call 1)");
    ensure!(stacks.len() == 1 && stacks[0].contains("7x"), "{ran:#?}");
    Ok(())
}

fn fewer_than_expected_is_123() -> anyhow::Result<()> {
    let line = "sys:getpgid --errno EAGAIN --when 1..3";
    inject(&format!("{line} --expect 3 -- inject-tests workload calls 9"))?.expect_status(0)?;
    inject(&format!("{line} --expect 4 -- inject-tests workload calls 9"))?
        .expect_status(123)?
        .expect_stderr("3 calls were made to fail, and at least 4 were expected")?;
    Ok(())
}

fn never_eligible_is_123() -> anyhow::Result<()> {
    let line = "sys:getpgid --errno EAGAIN --when 100";
    inject(&format!("{line} -- inject-tests workload calls 9"))?
        .expect_status(123)?
        .expect_stderr("never eligible")?;
    inject(&format!("{line} --allow-unused -- inject-tests workload calls 9"))?.expect_status(0)?;
    Ok(())
}

fn the_kernel_log_tells_who_injected() -> anyhow::Result<()> {
    shell("dmesg -c")?;
    inject("sys:getpgid --errno EAGAIN --when 1 -- inject-tests workload calls 1")?
        .expect_status(0)?;
    let log = shell("dmesg")?.stdout;
    ensure!(
        log.contains("inject: pid ")
            && log.contains("on: __x64_sys_getpgid EAGAIN at 100 %, calls 1"),
        "{log}"
    );
    ensure!(log.contains(": off"), "{log}");
    Ok(())
}

/// What a user writes into the log has a facility of its own, and is no warning of the kernel. (A healthy kernel gives no
/// warning on purpose; how one is told from chatter is a unit test.)
fn a_users_line_in_the_kernel_log_is_no_warning() -> anyhow::Result<()> {
    let ran = inject(
        "sys:getpgid --errno EAGAIN --fail-on-warning -- \
         sh -c 'inject-tests workload calls 1; echo \"KFENCE: mine\" > /dev/kmsg'",
    )?
    .expect_status(0)?;
    ensure!(!ran.stderr.contains("the kernel said"), "{ran:#?}");
    Ok(())
}

fn misses_are_counted_where_the_kernel_counts_them() -> anyhow::Result<()> {
    for (method, missed) in
        [("kprobe-multi", "calls missed: unknown"), ("fmod-ret", "calls missed: 0")]
    {
        inject(&format!(
            "sys:getpgid --errno EAGAIN --method {method} -- inject-tests workload calls 1"
        ))?
        .expect_status(0)?
        .expect_stderr(missed)?;
    }
    Ok(())
}
