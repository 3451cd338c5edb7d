//! Layouts of what the eBPF programs and the command see through maps.

use core::sync::atomic::AtomicU64;

/// Rules that one session can have: the entries of the map `RULES`.
pub const MAX_RULES: u32 = 1024;

/// Tasks that a scope can follow at a time: the entries of the map `TASKS`.
///
/// Preallocated, so that following a fork allocates nothing under our own faults.
pub const MAX_TASKS: u32 = 16384;

/// Processes that rules without a scope leave alone: the entries of the map `EXEMPT`.
pub const MAX_EXEMPT: u32 = 256;

/// A rate is an integer over this: a call fails if 32 random bits, as a number, are below the threshold.
pub const CERTAIN: u64 = 1 << 32;

/// A tracked task waits for its first exec: it is still `inject`'s own code.
pub const TASK_WAITS_FOR_EXEC: u32 = 0;
/// A tracked task is in scope.
pub const TASK_IN_SCOPE: u32 = 1;

/// The control word, in a memory-mapped map.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Control {
    /// The session acts while the kernel's tick count is below this. 0: disarmed.
    ///
    /// Ticks (`jiffies`), because reading them costs one load in any context. Linux 6.1 offers tracing programs no
    /// coarse clock, and a fine one may cost a trip to a slow device.
    pub armed_until: AtomicU64,
    /// The tick count when the program `read_ticks` last ran: user space has no other way to learn it.
    pub ticks: AtomicU64,
    /// Forks in scope that could not be followed, because `TASKS` was full.
    pub tasks_lost: AtomicU64,
}

/// One rule, as the programs read it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What the function returns instead of running, sign-extended.
    pub value: i64,
    /// 0 (never) to [`CERTAIN`] (always).
    pub threshold: u64,
    /// See [`Guard`].
    pub guard: Guard,
    /// Whether only tasks in `TASKS` are in scope: 0 or 1.
    pub scoped: u32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// Calls that a function's own body would never fail, because its callers do not check them.
///
/// An override skips the body, and with it these tests: see `__should_failslab` and
/// `__should_fail_alloc_page` in the kernel's mm/failslab.c and mm/page_alloc.c.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Whose calls, as an argument's index plus one, are refused when it equals the one at `refused_pointer_at`. 0: no such test.
    pub pointer_argument: u32,
    /// The same for the argument that holds the allocation flags, tested against `refused_flags`.
    pub flags_argument: u32,
    /// Where the refused pointer is kept: the address of the kernel's variable `kmem_cache`, the bootstrap cache.
    pub refused_pointer_at: u64,
    /// `__GFP_NOFAIL`.
    pub refused_flags: u64,
}

/// What happened to the calls of one rule on one CPU. A cache line of its own.
///
/// Counted while armed only. Each field counts the calls that got at least that far.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Counters {
    /// The program ran.
    pub seen: AtomicU64,
    /// ... outside a task's own context (interrupts), so not eligible.
    pub outside_task: AtomicU64,
    /// ... in a process that a rule without a scope leaves alone (PID 1, the command, its ancestors).
    pub exempt: AtomicU64,
    /// ... in the scope of the rule.
    pub in_scope: AtomicU64,
    /// ... in scope, but kept from failing by the function's guard.
    pub guarded: AtomicU64,
    /// ... chosen, and made to fail.
    pub injected: AtomicU64,
}

const _: () = {
    assert!(size_of::<Control>() == 24);
    assert!(size_of::<Guard>() == 24);
    assert!(size_of::<Rule>() == 48);
    assert!(size_of::<Counters>() == 128);
};
