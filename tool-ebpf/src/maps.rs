//! The maps, by the names under which the command finds them.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    macros::map,
    maps::{Array, CgroupArray, HashMap, LruHashMap, RingBuf, StackTrace},
};
use inject_common::map::{
    Control, Counters, Function, Hit, HitKey, MAX_EXEMPT, MAX_FUNCTIONS, MAX_RULES, MAX_STACKS,
    MAX_TASKS, Progress, Rule, TaskRule,
};

/// One entry. The command stores through its own mapping, so that one store arms and disarms.
#[map]
pub static CONTROL: Array<Control> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// By attach cookie.
#[map]
pub static FUNCTIONS: Array<Function> = Array::with_max_entries(MAX_FUNCTIONS, 0);

/// The rules of a function follow each other.
#[map]
pub static RULES: Array<Rule> = Array::with_max_entries(MAX_RULES, 0);

/// Entry `rule * CPUS + cpu`; sized by the loader. Mapped by the command, because an element call of bpf(2) would make
/// kprobe programs on its CPU miss calls.
#[map]
pub static COUNTERS: Array<Counters> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// By rule; sized by the loader.
#[map]
pub static PROGRESS: Array<Progress> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Thread id to `TASK_*`.
#[map]
pub static TASKS: HashMap<u32, u32> = HashMap::with_max_entries(MAX_TASKS, 0);

/// Process ids that a rule names. The value means nothing.
#[map]
pub static PROCESSES: HashMap<u32, u32> = HashMap::with_max_entries(MAX_EXEMPT, 0);

/// Process ids that rules leave alone. The value means nothing.
#[map]
pub static EXEMPT: HashMap<u32, u32> = HashMap::with_max_entries(MAX_EXEMPT, 0);

/// The control group of `--cgroup`.
#[map]
pub static CGROUP: CgroupArray = CgroupArray::with_max_entries(1, 0);

/// How many calls a task has made, by rule. The least recently used go first, so a program of many tasks still counts.
#[map]
pub static TASK_NUMBERS: LruHashMap<TaskRule, u64> = LruHashMap::with_max_entries(MAX_TASKS, 0);

/// Stacks of the calls that were hit.
#[map]
pub static STACKS: StackTrace = StackTrace::with_max_entries(MAX_STACKS, 0);

/// How often each stack was hit.
#[map]
pub static HITS: HashMap<HitKey, Hit> = HashMap::with_max_entries(2 * MAX_STACKS, 0);

/// Injections, one by one; see `Event`.
#[map]
pub static EVENTS: RingBuf = RingBuf::with_byte_size(1 << 20, 0);
