//! The helper's interface under nonsense: nothing but errnos, and the counts come back.

use std::{os::unix::process::CommandExt as _, process::Command, time::Duration};

use anyhow::ensure;

use crate::{
    cases::cases,
    guest::{
        command::Ran,
        counts::Counts,
        settings::number,
        state::{KEYED, within},
        workload::PROGRAM,
    },
};

cases![nonsense_gets_errnos, nonsense_of_nobody_gets_errnos, nobody_may_not_open_the_device];

/// Calls of each test, in all.
const CALLS: u64 = 200_000;
/// Each process starts with no references, so that the bound on them is not all that is tested.
const PROCESSES: u64 = 10;

fn fuzz(who: &str) -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let (calls, seed) = (number("INJECT_FUZZ_CALLS", CALLS), number("INJECT_SEED", 1));
    for process in 0..PROCESSES {
        let words =
            [seed * PROCESSES + process, calls / PROCESSES].map(|number| number.to_string());
        let ran = Command::new(PROGRAM).args(["workload", "fuzz"]).args(words).arg(who).output()?;
        Ran::from(ran).expect_status(0)?;
    }
    within(Duration::from_secs(1), || keys.expect(&[0; 3], "after the fuzz"))
}

fn nonsense_gets_errnos() -> anyhow::Result<()> {
    fuzz("root")
}

fn nonsense_of_nobody_gets_errnos() -> anyhow::Result<()> {
    fuzz("nobody")
}

fn nobody_may_not_open_the_device() -> anyhow::Result<()> {
    // Neither by the file's mode nor, if that is changed, by capability.
    for (mode, why) in [("600", "Permission denied"), ("666", "Operation not permitted")] {
        crate::guest::command::shell(&format!("chmod {mode} /dev/inject_keys"))?
            .expect_status(0)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 3<>/dev/inject_keys"]).uid(65534).gid(65534);
        let ran = Ran::from(command.output()?);
        crate::guest::command::shell("chmod 600 /dev/inject_keys")?.expect_status(0)?;
        ensure!(ran.status != 0 && ran.stderr.contains(why), "mode {mode}: {ran:#?}");
    }
    Ok(())
}
