//! Random operations of several processes, some killed in mid-operation: afterwards every count is what it was.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use anyhow::{Context as _, ensure};

use crate::{
    cases::cases,
    guest::{
        churn::MODULE,
        command::{Ran, shell},
        counts::Counts,
        legacy::{Attribute, spare_all_functions},
        random::Random,
        settings::number,
        state::KEYED,
        workload::PROGRAM,
    },
};

cases![random_holders_that_are_killed_leave_nothing];

/// 10,000 in the full run.
const OPERATIONS: u64 = 1_000;
const PROCESSES: u64 = 4;
/// Of one process, if it lives that long.
const EACH: u64 = 40;
const RECORD: &str = "/tmp/operations";

fn random_holders_that_are_killed_leave_nothing() -> anyhow::Result<()> {
    let (operations, seed) = (number("INJECT_OPERATIONS", OPERATIONS), number("INJECT_SEED", 1));
    let mut random = Random::from_seed(seed);
    let keys = Counts::of(&KEYED)?;
    let attributes = [Attribute::idle("failslab")?, Attribute::idle("fail_page_alloc")?];
    fs::write(RECORD, "")?;
    let (mut round, mut killed) = (0, 0);
    while fs::metadata(RECORD)?.len() < operations {
        killed += one_round(&mut random, round)?;
        // What belongs to processes is gone with them; these belong to nobody.
        for attribute in &attributes {
            attribute.set("probability", "0")?;
        }
        spare_all_functions()?;
        keys.expect(&[0; 3], &format!("seed {seed}, round {round}"))?;
        round += 1;
    }
    fs::remove_file(RECORD)?;
    ensure!(killed > 0, "nothing was killed");
    if fs::read_to_string("/proc/modules")?.contains(MODULE) {
        shell(&format!("rmmod {MODULE}"))?.expect_status(0)?;
    }
    Ok(())
}

/// Starts the processes and ends some of them; returns how many were killed.
fn one_round(random: &mut Random, round: u64) -> anyhow::Result<u64> {
    let start = |process: u64| {
        let seed = (round * PROCESSES + process).to_string();
        let words = ["workload", "churn", &seed, &EACH.to_string(), RECORD].map(str::to_owned);
        Command::new(PROGRAM).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let processes = (0..PROCESSES).map(start).collect::<Result<Vec<Child>, _>>()?;
    let mut killed = 0;
    for (at, mut process) in processes.into_iter().enumerate() {
        let kill = at % 2 == 0;
        if kill {
            sleep(Duration::from_millis(random.below(400)));
            process.kill()?;
        }
        let ran = Ran::from(process.wait_with_output()?);
        if kill && ran.status == 128 + 9 {
            killed += 1;
        } else {
            ran.expect_status(0).with_context(|| format!("round {round}, process {at}"))?;
        }
    }
    Ok(killed)
}
