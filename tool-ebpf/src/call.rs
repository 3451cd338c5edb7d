//! One call of an injectable function: asks the shared decision by every rule of the function, and counts what became
//! of it.

use aya_ebpf::helpers::{
    bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_get_current_uid_gid, bpf_probe_read_kernel,
};
use inject_common::{
    decide::{Call, Decision, Outcome, decide, is_armed},
    map::{Counters, Function, MAX_RULES_PER_FUNCTION, TASK_IN_SCOPE, TaskRule},
};

use crate::{
    atomic::{fetch_increment, increment, load},
    kernel,
    maps::{
        CGROUP, CONTROL, COUNTERS, EXEMPT, FUNCTIONS, PROCESSES, PROGRESS, RULES, TASK_NUMBERS,
        TASKS,
    },
    record,
};

/// What a mechanism hands over.
pub trait Context {
    /// The function's argument of that index, from 0 to 5.
    fn argument(&self, index: u32) -> u64;
    /// Keeps the kernel stack of the call; negative: it could not be kept.
    fn stack(&self) -> i32;
}

struct LiveCall<'a, C> {
    context: &'a C,
    rule: u32,
}

impl<C: Context> Call for LiveCall<'_, C> {
    #[inline(always)]
    fn now(&self) -> u64 {
        kernel::ticks()
    }

    #[inline(always)]
    fn armed_until(&self) -> u64 {
        let Some(control) = CONTROL.get(0) else { return 0 };
        load(&control.armed_until)
    }

    #[inline(always)]
    fn preempt_count(&self) -> u32 {
        kernel::preempt_count()
    }

    #[inline(always)]
    fn is_kernel_thread(&self) -> bool {
        kernel::is_kernel_thread()
    }

    #[inline(always)]
    fn process_is_exempt(&self) -> bool {
        // SAFETY: the value is not looked at.
        unsafe { EXEMPT.get(process()) }.is_some()
    }

    #[inline(always)]
    fn task_is_followed(&self) -> bool {
        // The kernel's own helpers of a process (io_uring's workers) are threads of it that no tracepoint announces.
        is_followed(thread()) || is_followed(process())
    }

    #[inline(always)]
    fn process_is_named(&self) -> bool {
        // SAFETY: the value is not looked at.
        unsafe { PROCESSES.get(process()) }.is_some()
    }

    #[inline(always)]
    fn comm(&self) -> [u8; 16] {
        bpf_get_current_comm().unwrap_or_default()
    }

    #[inline(always)]
    fn uid(&self) -> u32 {
        bpf_get_current_uid_gid() as u32
    }

    #[inline(always)]
    fn is_in_cgroup(&self) -> bool {
        CGROUP.current_task_under_cgroup(0) == Ok(true)
    }

    #[inline(always)]
    fn argument(&self, index: u32) -> u64 {
        self.context.argument(index)
    }

    #[inline(always)]
    fn kernel_word(&self, address: u64) -> u64 {
        // SAFETY: the helper checks the address itself and reports what it cannot read.
        unsafe { bpf_probe_read_kernel(address as *const u64) }.unwrap_or(0)
    }

    #[inline(always)]
    fn number(&self, per_task: bool) -> u64 {
        let Some(progress) = PROGRESS.get(self.rule) else { return 0 };
        let number = fetch_increment(&progress.numbered) + 1;
        if per_task { number_of_task(self.rule) } else { number }
    }

    #[inline(always)]
    fn ticket(&self) -> u64 {
        PROGRESS.get(self.rule).map_or(u64::MAX, |progress| fetch_increment(&progress.tickets))
    }
}

#[inline(always)]
pub fn thread() -> u32 {
    bpf_get_current_pid_tgid() as u32
}

#[inline(always)]
pub fn process() -> u32 {
    (bpf_get_current_pid_tgid() >> 32) as u32
}

#[inline(always)]
fn is_followed(task: u32) -> bool {
    // SAFETY: the value is a plain integer; a racing write gives the old or the new one.
    unsafe { TASKS.get(task) }.is_some_and(|state| *state == TASK_IN_SCOPE)
}

/// No other task counts under this key, so no atomic is needed.
#[inline(always)]
fn number_of_task(rule: u32) -> u64 {
    let key = TaskRule { thread: thread(), rule };
    match TASK_NUMBERS.get_ptr_mut(key) {
        // SAFETY: a pointer into the map's memory, which outlives the program.
        Some(number) => unsafe {
            *number += 1;
            *number
        },
        None => {
            let _ = TASK_NUMBERS.insert(key, 1, 0);
            1
        }
    }
}

/// What the function shall return instead of running, if anything.
#[inline(always)]
pub fn outcome(function: u64, context: &impl Context) -> Option<i64> {
    if !is_armed(&LiveCall { context, rule: 0 }) {
        return None;
    }
    let Function { first_rule, rules } = *FUNCTIONS.get(function as u32)?;
    let mut value = None;
    let mut index = 0;
    while index < MAX_RULES_PER_FUNCTION {
        if index >= rules {
            break;
        }
        // Every rule numbers the call, also if another one made it fail: that is how their numbers stay apart.
        if let Some(own) = by_rule(first_rule + index, context, value.is_some()) {
            value = Some(own);
        }
        index += 1;
    }
    value
}

#[inline(always)]
fn by_rule(index: u32, context: &impl Context, taken: bool) -> Option<i64> {
    let rule = RULES.get(index)?;
    let Decision { mut outcome, number } = decide(rule, &LiveCall { context, rule: index });
    if outcome == Outcome::Disarmed {
        return None;
    }
    if taken && outcome == Outcome::Injected {
        outcome = Outcome::Spent;
    }
    let counters = COUNTERS.get(index * kernel::cpus() + kernel::current_cpu())?;
    count(counters, outcome);
    match outcome {
        Outcome::Injected => {
            record::injection(index, number, context);
            Some(rule.value)
        }
        Outcome::Observed => {
            record::hit(index, number, context.stack());
            None
        }
        _ => None,
    }
}

#[inline(always)]
fn count(counters: &Counters, outcome: Outcome) {
    // Atomic although the slot is this CPU's own: a program can be preempted or interrupted by another of its kind.
    increment(&counters.seen);
    match outcome {
        Outcome::Disarmed | Outcome::OutOfScope => return,
        Outcome::OutsideTask => return increment(&counters.outside_task),
        Outcome::Exempt => return increment(&counters.exempt),
        _ => increment(&counters.in_scope),
    }
    match outcome {
        Outcome::Guarded => return increment(&counters.guarded),
        Outcome::NotNow => return,
        _ => increment(&counters.eligible),
    }
    match outcome {
        Outcome::Spent => increment(&counters.spent),
        Outcome::Injected => increment(&counters.injected),
        _ => {}
    }
}
