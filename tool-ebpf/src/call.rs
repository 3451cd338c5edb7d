//! One call of an injectable function: asks the shared decision, and counts what became of it.

use aya_ebpf::helpers::{bpf_get_current_pid_tgid, bpf_get_prandom_u32, bpf_probe_read_kernel};
use inject_common::{
    decide::{Call, Outcome, decide},
    map::{Counters, TASK_IN_SCOPE},
};

use crate::{
    atomic::{increment, load},
    kernel,
    maps::{CONTROL, COUNTERS, EXEMPT, RULES, TASKS},
};

/// How a mechanism hands over the function's arguments.
pub trait Arguments {
    /// The argument of that index, from 0 to 5.
    fn get(&self, index: u32) -> u64;
}

struct LiveCall<'a, A> {
    arguments: &'a A,
}

impl<A: Arguments> Call for LiveCall<'_, A> {
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
    fn task_in_scope(&self) -> bool {
        let thread = bpf_get_current_pid_tgid() as u32;
        // SAFETY: the value is a plain integer; a racing write gives the old or the new one.
        unsafe { TASKS.get(thread) }.is_some_and(|state| *state == TASK_IN_SCOPE)
    }

    #[inline(always)]
    fn process_is_exempt(&self) -> bool {
        let process = (bpf_get_current_pid_tgid() >> 32) as u32;
        // SAFETY: the value is not looked at.
        unsafe { EXEMPT.get(process) }.is_some()
    }

    #[inline(always)]
    fn kernel_word(&self, address: u64) -> u64 {
        // SAFETY: the helper checks the address itself and reports what it cannot read.
        unsafe { bpf_probe_read_kernel(address as *const u64) }.unwrap_or(0)
    }

    #[inline(always)]
    fn argument(&self, index: u32) -> u64 {
        self.arguments.get(index)
    }

    #[inline(always)]
    fn random(&self) -> u32 {
        // SAFETY: the helper has no preconditions.
        unsafe { bpf_get_prandom_u32() }
    }
}

/// What the function shall return instead of running, if anything.
#[inline(always)]
pub fn outcome(rule: u64, arguments: &impl Arguments) -> Option<i64> {
    let rule_index = rule as u32;
    let rule = RULES.get(rule_index)?;
    let outcome = decide(rule, &LiveCall { arguments });
    if outcome == Outcome::Disarmed {
        return None;
    }
    let counters = COUNTERS.get(rule_index * kernel::cpus() + kernel::current_cpu())?;
    count(counters, outcome);
    (outcome == Outcome::Injected).then_some(rule.value)
}

#[inline(always)]
fn count(counters: &Counters, outcome: Outcome) {
    // Atomic although the slot is this CPU's own: a program can be preempted or interrupted by another of its kind.
    increment(&counters.seen);
    match outcome {
        Outcome::Disarmed | Outcome::OutOfScope => {}
        Outcome::OutsideTask => increment(&counters.outside_task),
        Outcome::Exempt => increment(&counters.exempt),
        Outcome::Guarded => {
            increment(&counters.in_scope);
            increment(&counters.guarded);
        }
        Outcome::Spared => increment(&counters.in_scope),
        Outcome::Injected => {
            increment(&counters.in_scope);
            increment(&counters.injected);
        }
    }
}
