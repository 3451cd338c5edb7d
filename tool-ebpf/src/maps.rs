//! The maps, by the names under which the command finds them.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    macros::map,
    maps::{Array, HashMap},
};
use inject_common::map::{Control, Counters, MAX_EXEMPT, MAX_RULES, MAX_TASKS, Rule};

/// One entry. The command stores through its own mapping, so that one store arms and disarms.
#[map]
pub static CONTROL: Array<Control> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// By attach cookie.
#[map]
pub static RULES: Array<Rule> = Array::with_max_entries(MAX_RULES, 0);

/// Entry `rule * CPUS + cpu`; sized by the loader. Mapped by the command, because an element call of bpf(2) would make
/// kprobe programs on its CPU miss calls.
#[map]
pub static COUNTERS: Array<Counters> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Thread id to `TASK_*`.
#[map]
pub static TASKS: HashMap<u32, u32> = HashMap::with_max_entries(MAX_TASKS, 0);

/// Process ids that rules without a scope leave alone. The value means nothing.
#[map]
pub static EXEMPT: HashMap<u32, u32> = HashMap::with_max_entries(MAX_EXEMPT, 0);
