//! Whether a call fails: one body of code for the eBPF programs and for the host.

#[cfg(test)]
mod tests;

use crate::map::{Guard, MAX_WHEN, Rule, UNLIMITED, flag};

/// Bits of the kernel's preempt count that mean "not the task's own context": NMI, hard interrupt, and a soft interrupt
/// that is being served (bit 8; the rest of that field counts "soft interrupts disabled", which task code does as well).
///
/// Source: include/linux/preempt.h, `PREEMPT_MASK` and its neighbours, the same from 5.15 to 7.3.
pub const NOT_IN_TASK: u32 = 0x00ff_0000 | 0x0000_0100;

/// What a decision asks its surroundings. Asked in the order of [`decide`], and only as far as needed.
pub trait Call {
    /// The kernel's tick count.
    fn now(&self) -> u64;
    /// The control word.
    fn armed_until(&self) -> u64;
    /// The preempt count of this CPU; 0 where this kernel's cannot be read.
    fn preempt_count(&self) -> u32;
    /// Whether the current task is a kernel thread.
    fn is_kernel_thread(&self) -> bool;
    /// Whether the current process is one that is left alone.
    fn process_is_exempt(&self) -> bool;
    /// Whether the current task is in `TASKS` and past its exec, or a thread of a process that is.
    fn task_is_followed(&self) -> bool;
    /// Whether the current process is in `PROCESSES`.
    fn process_is_named(&self) -> bool;
    /// The current task's name.
    fn comm(&self) -> [u8; 16];
    /// The current task's user.
    fn uid(&self) -> u32;
    /// Whether the current task is in the control group in `CGROUP`, or below it.
    fn is_in_cgroup(&self) -> bool;
    /// The function's argument of that index, from 0.
    fn argument(&self, index: u32) -> u64;
    /// The kernel's memory at that address; 0 where it cannot be read.
    fn kernel_word(&self, address: u64) -> u64;
    /// Numbers the call, from 1: among all calls of the rule, or among the task's.
    fn number(&self, per_task: bool) -> u64;
    /// Takes a ticket, from 0, of the calls that may fail.
    fn ticket(&self) -> u64;
}

/// How far a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The session does not act (yet, or any more). Not counted.
    Disarmed,
    /// Interrupt context.
    OutsideTask,
    /// A process that must not be hit by accident.
    Exempt,
    /// A task that the rule does not cover.
    OutOfScope,
    /// The function's guard kept it from failing.
    Guarded,
    /// Not among the numbers of `--when`.
    NotNow,
    /// The dice said no.
    Spared,
    /// The rule has failed as many calls as it may.
    Spent,
    /// The rule observes only: the call would have been eligible.
    Observed,
    /// The function returns the rule's value instead of running.
    Injected,
}

/// A decision, with the call's number; 0 if it was not numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How far the call got.
    pub outcome: Outcome,
    /// Its number.
    pub number: u64,
}

/// Whether a session acts at this moment. The plain load comes first: unarmed programs must cost next to nothing.
#[inline(always)]
pub fn is_armed(call: &impl Call) -> bool {
    let armed_until = call.armed_until();
    armed_until != 0 && call.now() < armed_until
}

/// Decides about one call by one rule.
#[inline(always)]
pub fn decide(rule: &Rule, call: &impl Call) -> Decision {
    let unnumbered = |outcome| Decision { outcome, number: 0 };
    if !is_armed(call) {
        return unnumbered(Outcome::Disarmed);
    }
    if rule.flags & flag::IRQ == 0 && call.preempt_count() & NOT_IN_TASK != 0 {
        return unnumbered(Outcome::OutsideTask);
    }
    if call.process_is_exempt() {
        return unnumbered(Outcome::Exempt);
    }
    if !in_scope(rule, call) {
        return unnumbered(Outcome::OutOfScope);
    }
    if guarded(&rule.guard, call) {
        return unnumbered(Outcome::Guarded);
    }
    let number = call.number(rule.flags & flag::COUNT_PER_TASK != 0);
    let outcome = if !in_order(rule, number) {
        Outcome::NotNow
    } else if rule.flags & flag::OBSERVE != 0 {
        Outcome::Observed
    } else if !hit(rule.threshold, dice(rule.seed, number)) {
        Outcome::Spared
    } else if rule.times != UNLIMITED && call.ticket() >= rule.times {
        Outcome::Spent
    } else {
        Outcome::Injected
    };
    Decision { outcome, number }
}

#[inline(always)]
fn in_scope(rule: &Rule, call: &impl Call) -> bool {
    if call.is_kernel_thread() {
        return rule.flags & flag::KTHREADS != 0;
    }
    let wanted = |bit| rule.flags & bit != 0;
    (!wanted(flag::TASKS) || call.task_is_followed())
        && (!wanted(flag::PROCESSES) || call.process_is_named())
        && (!wanted(flag::UID) || call.uid() == rule.scope.uid)
        && (!wanted(flag::COMM) || same_comm(&call.comm(), &rule.scope.comm))
        && (!wanted(flag::CGROUP) || call.is_in_cgroup())
}

/// Compares as two numbers: a loop over bytes is long for the verifier.
#[inline(always)]
fn same_comm(one: &[u8; 16], other: &[u8; 16]) -> bool {
    u128::from_ne_bytes(*one) == u128::from_ne_bytes(*other)
}

#[inline(always)]
fn guarded(guard: &Guard, call: &impl Call) -> bool {
    (guard.flags_argument != 0
        && call.argument(guard.flags_argument - 1) & guard.refused_flags != 0)
        || (guard.pointer_argument != 0
            && call.argument(guard.pointer_argument - 1)
                == call.kernel_word(guard.refused_pointer_at))
}

/// Whether a number is among those of `--when`: of any of its ranges.
#[inline(always)]
pub fn in_order(rule: &Rule, number: u64) -> bool {
    if rule.whens == 0 {
        return true;
    }
    let mut found = false;
    let mut index = 0;
    while index < MAX_WHEN {
        let when = &rule.when[index];
        // Ranges that are not used have a step of 0.
        if when.step != 0
            && number >= when.first
            && number <= when.last
            && (number - when.first).is_multiple_of(when.step)
        {
            found = true;
        }
        index += 1;
    }
    found
}

/// 32 bits that depend on nothing but the seed and the call's number.
///
/// The finaliser of a 64-bit mixer over a Weyl sequence (the construction of SplitMix64; Steele, Lea and Flood 2014).
#[inline(always)]
pub fn dice(seed: u64, number: u64) -> u32 {
    let mut bits = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 32) as u32
}

/// Whether these random bits mean failure: true for `threshold` of the 2^32 values.
#[inline(always)]
pub fn hit(threshold: u64, random: u32) -> bool {
    u64::from(random) < threshold
}
