//! Random holders, to be killed at any time: `inject-tests workload churn SEED OPERATIONS RECORD`.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    thread,
};

use anyhow::{Context as _, ensure};
use inject::keys::{HeldKeys, KeyDevice, KeyedFunction, KeysError};

use super::{
    command::shell,
    counts::Counts,
    legacy::put,
    random::Random,
    state::{KEYED, keyed},
};

/// The module with keys of its own.
pub const MODULE: &str = "inject_target";
/// Its keyed function.
pub const IN_MODULE: &str = "inject_target_keyed";

/// References that a process keeps at most.
const HELD: usize = 8;

/// Does so many operations, and appends a byte to `record` after each.
pub fn run(seed: u64, operations: u64, record: &str) -> anyhow::Result<()> {
    let mut record = OpenOptions::new().append(true).create(true).open(record)?;
    let functions = KEYED.iter().map(|name| keyed(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let counts = Counts::of(&KEYED)?;
    let mut churn = Churn { random: Random::from_seed(seed), functions, counts, held: Vec::new() };
    for number in 0..operations {
        churn.operate().with_context(|| format!("seed {seed}, operation {number}"))?;
        record.write_all(b".")?;
    }
    Ok(())
}

struct Churn {
    random: Random,
    functions: Vec<KeyedFunction>,
    counts: Counts,
    held: Vec<HeldKeys>,
}

impl Churn {
    fn operate(&mut self) -> anyhow::Result<()> {
        match self.random.below(64) {
            0..=15 => self.hold(),
            16..=27 => self.drop_one(),
            28..=33 => self.probability("failslab"),
            34..=37 => self.probability("fail_page_alloc"),
            38..=43 => self.fail_nth(),
            44..=47 => self.fail_nth_of_a_thread(),
            // fail_function is not among them: its kprobe coming and going under calls from both CPUs crashed 6.1
            // once (a return to address 0 out of should_fail_alloc_page). The table of holders covers it.
            48..=57 => self.fail_nth(),
            58 => self.module(),
            59 => self.hold_in_module(),
            _ => Ok((0..5).try_for_each(|_| File::open("/proc/self/stat").map(drop))?),
        }
    }

    fn hold(&mut self) -> anyhow::Result<()> {
        if self.held.len() == HELD {
            self.held.clear();
        }
        let length = self.random.below(3) + 1;
        let list: Vec<_> = (0..length)
            .map(|_| self.functions[self.random.below(KEYED.len() as u64) as usize].clone())
            .collect();
        let held = KeyDevice::open()?.context("there is no helper")?.hold(list)?;
        held.verify()?;
        self.held.push(held);
        let least = self.held.len() as u32;
        let sum: u32 = self.counts.now()?.iter().sum();
        ensure!(sum >= least, "{sum} references in all, though {least} are this process's");
        Ok(())
    }

    fn drop_one(&mut self) -> anyhow::Result<()> {
        if let Some(held) = self.held.pop()
            && self.random.below(2) == 0
        {
            held.release()?;
        }
        Ok(())
    }

    fn probability(&mut self, attribute: &str) -> anyhow::Result<()> {
        let path = format!("/sys/kernel/debug/{attribute}/probability");
        Ok(put(&path, self.random.pick(&["0", "0", "1", "100"]))?)
    }

    fn fail_nth(&mut self) -> anyhow::Result<()> {
        Ok(put("/proc/thread-self/fail-nth", self.random.pick(&["0", "1000000", "2000000"]))?)
    }

    fn fail_nth_of_a_thread(&mut self) -> anyhow::Result<()> {
        let thread = thread::spawn(|| put("/proc/thread-self/fail-nth", "1000000"));
        Ok(thread.join().expect("writing does not panic")?)
    }

    /// Loads or unloads it; either can fail because of what others do.
    fn module(&mut self) -> anyhow::Result<()> {
        let load = format!("insmod /lib/modules/$(uname -r)/extra/{MODULE}.ko");
        let unload = format!("rmmod {MODULE}");
        shell(if self.random.below(2) == 0 { &load } else { &unload }).map(drop)
    }

    fn hold_in_module(&mut self) -> anyhow::Result<()> {
        let Ok(function) = keyed(IN_MODULE) else { return Ok(()) };
        match KeyDevice::open()?.context("there is no helper")?.hold(vec![function]) {
            Ok(held) => self.held.push(held),
            // It went, or is only on its way in; or its place is something else's by now.
            Err(KeysError::Refused { source, .. }) => {
                expect(Err(source), &[libc::ENOENT, libc::EBUSY, libc::ENXIO])?;
            }
            Err(other) => return Err(other.into()),
        }
        Ok(())
    }
}

fn expect(result: io::Result<()>, errnos: &[i32]) -> anyhow::Result<()> {
    match result {
        Err(error) if !error.raw_os_error().is_some_and(|errno| errnos.contains(&errno)) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}
