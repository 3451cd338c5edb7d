//! When a call fails: numbers, times, seeds, rates. The target is a system call that nothing else makes.

use anyhow::ensure;

use crate::{
    cases::cases,
    guest::{
        command::{Ran, inject, shell},
        workload::failed_calls,
    },
};
use inject_common::{
    decide::{dice, hit},
    map::CERTAIN,
};

cases![
    two_rules_of_one_function_fail_the_first_and_the_third_call,
    ranges_and_steps_are_those_of_the_command_line,
    times_is_exact_over_four_processes_on_two_cpus,
    the_choices_are_the_host_models_over_100000_calls,
    the_same_seed_repeats_the_run,
    an_unseeded_run_keeps_its_rate,
    a_rate_applies_to_the_calls_that_when_leaves,
    counting_per_task_begins_anew_in_each_process,
    ten_thousand_mounts_at_one_per_cent,
];

/// Numbers of the calls that failed, of so many from one process.
fn failed(options: &str, calls: u64) -> anyhow::Result<(Vec<u64>, Ran)> {
    let ran = inject(&format!("{options} -- inject-tests workload calls {calls}"))?;
    let failed = failed_calls(&ran.stdout)?;
    Ok((failed, ran))
}

fn two_rules_of_one_function_fail_the_first_and_the_third_call() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        let (calls, ran) = failed(
            &format!(
                "sys:getpgid:errno=EAGAIN:when=1 sys:getpgid:errno=EAGAIN:when=3 --method {method}"
            ),
            10,
        )?;
        ensure!(calls == [1, 3], "{method}: {calls:?} {ran:#?}");
    }
    Ok(())
}

fn ranges_and_steps_are_those_of_the_command_line() -> anyhow::Result<()> {
    for (options, expected) in [
        ("--when 3", vec![3]),
        ("--when 3..5", vec![3, 4, 5]),
        ("--when 18+", vec![18, 19, 20]),
        ("--when 3+7", vec![3, 10, 17]),
        ("--when 2..9+3 --when 20", vec![2, 5, 8, 20]),
        ("--when 19+ --times 1", vec![19]),
    ] {
        let (calls, ran) = failed(&format!("sys:getpgid --errno EAGAIN {options}"), 20)?;
        ensure!(calls == expected, "{options}: {calls:?} {ran:#?}");
    }
    Ok(())
}

fn times_is_exact_over_four_processes_on_two_cpus() -> anyhow::Result<()> {
    for method in ["kprobe-multi", "fmod-ret"] {
        // A file each: lines of that length would run into each other in a pipe.
        let four = "for i in 1 2 3 4; do inject-tests workload calls 5000 > /tmp/calls.$i & done; \
                    wait; cat /tmp/calls.*; rm /tmp/calls.*";
        let ran = inject(&format!(
            "sys:getpgid --errno EAGAIN --rate 50% --times 1000 --method {method} -- sh -c '{four}'"
        ))?
        .expect_status(0)?;
        let seen: usize =
            ran.stdout.lines().map(|line| failed_calls(line).map_or(0, |calls| calls.len())).sum();
        ensure!(seen == 1000, "{method}: {seen} calls failed");
        ensure!(ran.number_before("injected")? == 1000, "{method}: {}", ran.stderr);
    }
    Ok(())
}

fn model(seed: u64, rate: f64, calls: u64) -> Vec<u64> {
    let threshold = (rate * CERTAIN as f64).round() as u64;
    (1..=calls).filter(|number| hit(threshold, dice(seed, *number))).collect()
}

fn the_choices_are_the_host_models_over_100000_calls() -> anyhow::Result<()> {
    for (method, seed, rate) in
        [("kprobe-multi", 1, 0.01), ("fmod-ret", 1, 0.01), ("kprobe-multi", 987_654_321, 0.3)]
    {
        let (calls, ran) = failed(
            &format!("sys:getpgid --errno EAGAIN --rate {rate} --seed {seed} --method {method}"),
            100_000,
        )?;
        let expected = model(seed, rate, 100_000);
        ensure!(
            calls == expected,
            "{method}, seed {seed}: {} calls failed, {} by the model; {}",
            calls.len(),
            expected.len(),
            ran.stderr
        );
    }
    Ok(())
}

fn the_same_seed_repeats_the_run() -> anyhow::Result<()> {
    let run = |seed| failed(&format!("sys:getpgid --errno EAGAIN --rate 5% --seed {seed}"), 2000);
    let (first, _) = run(7)?;
    let (again, _) = run(7)?;
    let (other, _) = run(8)?;
    ensure!(!first.is_empty() && first == again, "{first:?} {again:?}");
    ensure!(first != other, "another seed gives the same choices");
    Ok(())
}

fn an_unseeded_run_keeps_its_rate() -> anyhow::Result<()> {
    let (calls, ran) = failed("sys:getpgid --errno EAGAIN --rate 2%", 50_000)?;
    let (mean, deviation) = (1000.0, (1000.0f64 * 0.98).sqrt());
    ensure!((calls.len() as f64 - mean).abs() <= 5.0 * deviation, "{}", calls.len());
    // The seed that was taken is told, and repeats the run.
    let seed = ran.stderr.lines().find_map(|line| line.split("seed").nth(1)).unwrap_or("").trim();
    let (again, _) =
        failed(&format!("sys:getpgid --errno EAGAIN --rate 2% --seed {seed}"), 50_000)?;
    ensure!(calls == again, "seed {seed} does not repeat the run");
    Ok(())
}

fn a_rate_applies_to_the_calls_that_when_leaves() -> anyhow::Result<()> {
    let (calls, ran) =
        failed("sys:getpgid --errno EAGAIN --when 10..1009 --rate 50% --seed 3", 5000)?;
    ensure!(calls.iter().all(|call| (10..=1009).contains(call)), "{calls:?}");
    ensure!((400..=600).contains(&calls.len()), "{} {ran:#?}", calls.len());
    ensure!(ran.number_before("eligible")? == 1000, "{ran:#?}");
    Ok(())
}

fn counting_per_task_begins_anew_in_each_process() -> anyhow::Result<()> {
    let three = "for i in 1 2 3; do inject-tests workload calls 5; done";
    let run = |per: &str| {
        inject(&format!("sys:getpgid --errno EAGAIN --when 2 --count-per {per} -- sh -c '{three}'"))
    };
    let lines = |ran: &Ran| -> anyhow::Result<Vec<Vec<u64>>> {
        ran.stdout.lines().map(failed_calls).collect()
    };
    let task = run("task")?;
    ensure!(lines(&task)? == [[2], [2], [2]], "{task:#?}");
    let all = run("all")?;
    ensure!(lines(&all)? == [vec![2], vec![], vec![]], "{all:#?}");
    Ok(())
}

fn ten_thousand_mounts_at_one_per_cent() -> anyhow::Result<()> {
    let ran =
        inject("sys:mount --rate 1% -- inject-tests workload mounts 10000")?.expect_status(0)?;
    let injected = ran.number_before("injected")?;
    let (mean, deviation) = (100.0, 99.0f64.sqrt());
    ensure!((injected as f64 - mean).abs() <= 5.0 * deviation, "{ran:#?}");
    // What was not made to fail failed in its own way: the source makes no sense.
    ensure!(ran.stdout.contains(&format!("{injected} with errno 12")), "{ran:#?}");
    ensure!(shell("mount")?.status == 0);
    Ok(())
}
