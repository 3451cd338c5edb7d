//! Layouts of what the eBPF programs and the command see through maps.

use core::sync::atomic::AtomicU64;

/// Functions that one session can have: the entries of the map `FUNCTIONS`.
pub const MAX_FUNCTIONS: u32 = 4096;

/// Rules that one session can have: the entries of the map `RULES`.
pub const MAX_RULES: u32 = 4096;

/// Rules that one function can have.
pub const MAX_RULES_PER_FUNCTION: u32 = 8;

/// Ranges of `--when` that one rule can have.
pub const MAX_WHEN: usize = 6;

/// Tasks that a scope can follow at a time: the entries of the map `TASKS`.
///
/// Preallocated, so that following a fork allocates nothing under our own faults.
pub const MAX_TASKS: u32 = 16384;

/// Processes that rules leave alone: the entries of the map `EXEMPT`.
pub const MAX_EXEMPT: u32 = 256;

/// Distinct stacks that can be kept apart: the entries of the map `STACKS`.
pub const MAX_STACKS: u32 = 4096;

/// A rate is an integer over this: a call fails if 32 random bits, as a number, are below the threshold.
pub const CERTAIN: u64 = 1 << 32;

/// A rule that may fail any number of calls.
pub const UNLIMITED: u64 = u64::MAX;

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
    /// Injections that could not be reported one by one, because `EVENTS` was full.
    pub events_lost: AtomicU64,
    /// Injections and observed calls whose stacks could not be kept.
    pub stacks_lost: AtomicU64,
}

/// Where the rules of a function are, by attach cookie.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Index into `RULES`.
    pub first_rule: u32,
    /// How many follow each other there, up to [`MAX_RULES_PER_FUNCTION`].
    pub rules: u32,
}

/// One rule, as the programs read it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What the function returns instead of running, sign-extended.
    pub value: i64,
    /// 0 (never) to [`CERTAIN`] (always).
    pub threshold: u64,
    /// Makes the choices repeatable: they depend on this and the call's number alone.
    pub seed: u64,
    /// How many calls may fail; [`UNLIMITED`].
    pub times: u64,
    /// See [`Guard`].
    pub guard: Guard,
    /// See [`Scope`].
    pub scope: Scope,
    /// [`flag`]s.
    pub flags: u32,
    /// How many of `when` count. 0: every call does.
    pub whens: u32,
    /// Which calls, by number.
    pub when: [When; MAX_WHEN],
}

/// Bits of [`Rule::flags`].
pub mod flag {
    /// Only tasks in `TASKS`, and the threads of processes in it.
    pub const TASKS: u32 = 1 << 0;
    /// Only processes in `PROCESSES`.
    pub const PROCESSES: u32 = 1 << 1;
    /// Only tasks of that name.
    pub const COMM: u32 = 1 << 2;
    /// Only tasks of that user.
    pub const UID: u32 = 1 << 3;
    /// Only tasks in the control group in `CGROUP`, or below it.
    pub const CGROUP: u32 = 1 << 4;
    /// Any of the above: a rule without one is for the whole system.
    pub const ANY_SCOPE: u32 = TASKS | PROCESSES | COMM | UID | CGROUP;
    /// Kernel threads too, whatever the scope.
    pub const KTHREADS: u32 = 1 << 8;
    /// Interrupts too.
    pub const IRQ: u32 = 1 << 9;
    /// Each task's calls are numbered for themselves.
    pub const COUNT_PER_TASK: u32 = 1 << 10;
    /// Nothing fails; stacks of the calls that could are kept.
    pub const OBSERVE: u32 = 1 << 11;
}

/// For whom a rule is, beside what the maps hold.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// For [`flag::COMM`]: the whole name, filled up with zeros.
    pub comm: [u8; 16],
    /// For [`flag::UID`].
    pub uid: u32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// Call numbers `first`, `first + step`, … up to `last`. Numbers start at 1.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// At least 1.
    pub first: u64,
    /// Not below `first`.
    pub last: u64,
    /// At least 1.
    pub step: u64,
}

/// Calls that a function's own body would never fail, because its callers do not check them.
///
/// An override skips the body, and with it these tests: see `__should_failslab` and
/// `__should_fail_alloc_page` in the kernel's mm/failslab.c and mm/page_alloc.c.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Whose calls, as an argument's index plus one, are refused when it equals the one at `refused_pointer_at`. 0: no
    /// such test.
    pub pointer_argument: u32,
    /// The same for the argument that holds the allocation flags, tested against `refused_flags`.
    pub flags_argument: u32,
    /// Where the refused pointer is kept: the address of the kernel's variable `kmem_cache`, the bootstrap cache.
    pub refused_pointer_at: u64,
    /// `__GFP_NOFAIL`.
    pub refused_flags: u64,
}

/// What became of the calls of one rule on one CPU. A cache line of its own.
///
/// Counted while armed only.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Counters {
    /// The program ran.
    pub seen: AtomicU64,
    /// … outside a task's own context (interrupts), which the rule does not cover.
    pub outside_task: AtomicU64,
    /// … in a process that is left alone (PID 1, the command, its ancestors).
    pub exempt: AtomicU64,
    /// … in the scope of the rule.
    pub in_scope: AtomicU64,
    /// … in scope, but kept from failing by the function's guard.
    pub guarded: AtomicU64,
    /// … in scope, not guarded, and among the numbers of `when`: dice are thrown for these.
    pub eligible: AtomicU64,
    /// … chosen, but failed already by another rule of the function, or beyond `times`.
    pub spent: AtomicU64,
    /// … made to fail.
    pub injected: AtomicU64,
}

/// What the rule's calls share over all CPUs. A cache line of its own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Progress {
    /// Calls that were numbered.
    pub numbered: AtomicU64,
    /// Tickets taken of `times`; may go beyond.
    pub tickets: AtomicU64,
}

/// One injection, in the ring buffer `EVENTS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub time: u64,
    /// The call's number.
    pub number: u64,
    /// Index into `RULES`.
    pub rule: u32,
    /// Id in `STACKS`; negative: the stack could not be kept.
    pub stack: i32,
    /// In the initial PID namespace.
    pub process: u32,
    /// The same for the thread.
    pub thread: u32,
    /// Filled up with zeros.
    pub comm: [u8; 16],
}

/// Key of the map `HITS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HitKey {
    /// Index into `RULES`.
    pub rule: u32,
    /// Id in `STACKS`.
    pub stack: i32,
}

/// How often a rule hit a stack.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Calls.
    pub count: u64,
    /// The number of the first.
    pub first: u64,
}

/// Key of the map `TASK_NUMBERS`, for [`flag::COUNT_PER_TASK`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TaskRule {
    /// Thread id.
    pub thread: u32,
    /// Index into `RULES`.
    pub rule: u32,
}

const _: () = {
    assert!(size_of::<Control>() == 40);
    assert!(size_of::<Function>() == 8);
    assert!(size_of::<Guard>() == 24);
    assert!(size_of::<Scope>() == 24);
    assert!(size_of::<When>() == 24);
    assert!(size_of::<Rule>() == 32 + 24 + 24 + 8 + 24 * MAX_WHEN);
    assert!(size_of::<Counters>() == 128);
    assert!(size_of::<Progress>() == 128);
    assert!(size_of::<Event>() == 48);
    assert!(size_of::<HitKey>() == 8);
    assert!(size_of::<Hit>() == 16);
    assert!(size_of::<TaskRule>() == 8);
};
