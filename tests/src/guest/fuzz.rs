//! Requests to the helper that make no sense, and some that do: `inject-tests workload fuzz SEED CALLS WHO`.
//!
//! Two threads call, on a file that stays open and on a number that a third one keeps opening and closing. They share
//! the memory that holds the arguments, so what the kernel reads changes under its eyes.

use std::{
    collections::BTreeMap,
    os::fd::RawFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, ensure};
use inject_common::keys::{IOC_COUNT, IOC_HOLD, IOC_RELEASE, IOC_VERSION, MAX_REFERENCES};
use nix::unistd::{Uid, setuid};

use super::{
    random::Random,
    raw::{self, Arena},
    state::{KEYED, UNKEYED, address},
};

/// A number that no file of this process has by itself.
const CHANGING: RawFd = 100;

/// All that a request may end in, beside success.
const ERRNOS: [i32; 11] = [
    libc::EFAULT,
    libc::EINVAL,
    libc::ENOTTY,
    libc::ENOENT,
    libc::ENXIO,
    libc::ESTALE,
    libc::ENOSPC,
    libc::ENOMEM,
    libc::EBADF,
    libc::EINTR,
    libc::EOPNOTSUPP,
];

/// How often each result came.
type Results = BTreeMap<i32, u64>;

/// `nobody`: whether the calls are made by somebody without privileges, on files that were opened with them.
pub fn run(seed: u64, calls: u64, nobody: bool) -> anyhow::Result<()> {
    let device = raw::open().context("/dev/inject_keys")?;
    let functions: Vec<u64> =
        KEYED.iter().chain(&[UNKEYED]).map(|name| address(name)).collect::<Result<_, _>>()?;
    let arena = Arena::map()?;
    if nobody {
        setuid(Uid::from_raw(65534))?;
        ensure!(raw::open().is_err(), "nobody may open the device");
    }
    let over = AtomicBool::new(false);
    let results = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let opened = if nobody { device.try_clone() } else { raw::open() };
                if let Ok(file) = opened {
                    raw::with_number(&file, CHANGING, thread::yield_now);
                }
            }
        });
        let callers = [0, 1].map(|caller| {
            let (arena, functions, device) = (&arena, &functions, raw::number(&device));
            scope.spawn(move || {
                let random = Random::from_seed(seed * 2 + caller);
                Caller { random, arena, functions, device }.call(calls / 2)
            })
        });
        let results = callers.map(|caller| caller.join().expect("calling does not panic"));
        over.store(true, Ordering::Relaxed);
        results
    });
    let mut sum = Results::new();
    for (result, count) in results.into_iter().flatten() {
        *sum.entry(result).or_default() += count;
    }
    let unexpected: Vec<_> =
        sum.keys().filter(|result| **result != 0 && !ERRNOS.contains(result)).collect();
    ensure!(unexpected.is_empty(), "unexpected results {unexpected:?}, seed {seed}, {sum:?}");
    // A fuzz that only ever meets the first check has seen nothing.
    for result in [0, libc::EFAULT, libc::EINVAL, libc::ENOTTY, libc::ENOENT] {
        ensure!(sum.contains_key(&result), "never {result}, seed {seed}: {sum:?}");
    }
    println!("{calls} calls, results {sum:?}");
    Ok(())
}

struct Caller<'a> {
    random: Random,
    arena: &'a Arena,
    functions: &'a [u64],
    device: RawFd,
}

impl Caller<'_> {
    fn call(mut self, calls: u64) -> Results {
        let mut results = Results::new();
        for _ in 0..calls {
            let descriptor = if self.random.below(8) == 0 { CHANGING } else { self.device };
            self.fill();
            let (request, argument) = (self.request(), self.pointer());
            let result = raw::ioctl(descriptor, request, argument);
            *results.entry(result.err().unwrap_or(0)).or_default() += 1;
        }
        results
    }

    /// One of the four, or one with another size, direction or number.
    fn request(&mut self) -> u32 {
        let request = self.random.pick(&[
            IOC_VERSION,
            IOC_HOLD,
            IOC_HOLD,
            IOC_RELEASE,
            IOC_RELEASE,
            IOC_COUNT,
        ]);
        match self.random.below(16) {
            0 => request ^ (1 << (16 + self.random.below(14))),
            1 => request ^ (1 << self.random.below(8)),
            2 => request ^ (self.random.below(4) as u32) << 30,
            3 => self.random.next() as u32,
            _ => request,
        }
    }

    /// The start of the arena most of the time; else the end of a page, a page that may not be touched, or a place that
    /// user space does not have.
    fn pointer(&mut self) -> u64 {
        let near_the_end = 4096 - self.random.below(32) as usize;
        let strange = [
            self.arena.address(0, near_the_end),
            self.arena.address(1, 0),
            self.arena.address(1, near_the_end),
            self.arena.address(2, 8),
            0,
            8,
            0x0000_7fff_ffff_fff8,
            0x0000_8000_0000_0000,
            0xffff_8880_0000_0000,
            u64::MAX,
            u64::MAX - 15,
        ];
        if self.random.below(4) == 0 {
            self.random.pick(&strange)
        } else {
            self.arena.address(0, 0)
        }
    }

    /// A list header, or a function to count, then functions.
    fn fill(&mut self) {
        const MAX: u64 = MAX_REFERENCES as u64;
        let counts = [1, 1, 1, 2, 3, 5, 0, MAX + 1, u64::from(u32::MAX), 0x8000_0000];
        // Rare, since each takes as long as a thousand others.
        let count = match self.random.below(512) {
            0 => MAX,
            _ => self.random.pick(&counts),
        };
        let functions = match self.random.below(4) {
            0 => self.pointer(),
            _ => self.arena.address(0, 64),
        };
        let first = if self.random.below(4) == 0 { self.function() } else { functions };
        let mut words = [0; 8];
        words[..3].copy_from_slice(&[first, count | self.random.next() << 32, self.random.next()]);
        self.arena.fill(0, &words);
        for at in 0..5 {
            let key = if self.random.below(8) == 0 { self.random.next() } else { 0 };
            let function = [self.function(), key];
            self.arena.fill(64 + at * 16, &function);
        }
    }

    fn function(&mut self) -> u64 {
        let function = self.random.pick(self.functions);
        match self.random.below(16) {
            0 => function + 1,
            1 => self.random.next(),
            2 => function & 0xffff_ffff,
            _ => function,
        }
    }
}
