//! Whether a call fails: one body of code for the eBPF programs and for the host.

use crate::map::{CERTAIN, Guard, Rule};

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
    /// Whether the current task is tracked and past its exec.
    fn task_in_scope(&self) -> bool;
    /// Whether the current process is one that rules without a scope leave alone.
    fn process_is_exempt(&self) -> bool;
    /// The kernel's memory at that address; 0 where it cannot be read.
    fn kernel_word(&self, address: u64) -> u64;
    /// The function's argument of that index, from 0.
    fn argument(&self, index: u32) -> u64;
    /// 32 random bits.
    fn random(&self) -> u32;
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
    /// The dice said no.
    Spared,
    /// The function returns the rule's value instead of running.
    Injected,
}

/// Decides about one call.
#[inline(always)]
pub fn decide(rule: &Rule, call: &impl Call) -> Outcome {
    let armed_until = call.armed_until();
    // The plain load comes first: unarmed programs must cost next to nothing.
    if armed_until == 0 || call.now() >= armed_until {
        return Outcome::Disarmed;
    }
    if call.preempt_count() & NOT_IN_TASK != 0 {
        return Outcome::OutsideTask;
    }
    if rule.scoped == 0 {
        if call.process_is_exempt() {
            return Outcome::Exempt;
        }
    } else if !call.task_in_scope() {
        return Outcome::OutOfScope;
    }
    if guarded(&rule.guard, call) {
        return Outcome::Guarded;
    }
    if hit(rule.threshold, call.random()) { Outcome::Injected } else { Outcome::Spared }
}

#[inline(always)]
fn guarded(guard: &Guard, call: &impl Call) -> bool {
    (guard.flags_argument != 0
        && call.argument(guard.flags_argument - 1) & guard.refused_flags != 0)
        || (guard.pointer_argument != 0
            && call.argument(guard.pointer_argument - 1)
                == call.kernel_word(guard.refused_pointer_at))
}

/// Whether these random bits mean failure: true for `threshold` of the 2^32 values.
#[inline(always)]
pub fn hit(threshold: u64, random: u32) -> bool {
    u64::from(random) < threshold
}

const _: () = assert!(CERTAIN == u32::MAX as u64 + 1);

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    struct Fake {
        now: u64,
        armed_until: u64,
        preempt_count: u32,
        in_scope: bool,
        exempt: bool,
        arguments: [u64; 2],
        random: u32,
        asked: Cell<u32>,
    }

    impl Call for Fake {
        fn now(&self) -> u64 {
            self.now
        }
        fn armed_until(&self) -> u64 {
            self.armed_until
        }
        fn preempt_count(&self) -> u32 {
            self.preempt_count
        }
        fn task_in_scope(&self) -> bool {
            self.in_scope
        }
        fn process_is_exempt(&self) -> bool {
            self.exempt
        }
        fn kernel_word(&self, address: u64) -> u64 {
            address + 1
        }
        fn argument(&self, index: u32) -> u64 {
            self.arguments[index as usize]
        }
        fn random(&self) -> u32 {
            self.asked.set(self.asked.get() + 1);
            self.random
        }
    }

    fn call() -> Fake {
        Fake {
            now: 10,
            armed_until: 20,
            preempt_count: 0,
            in_scope: true,
            exempt: false,
            arguments: [0; 2],
            random: 0,
            asked: Cell::new(0),
        }
    }

    fn always() -> Rule {
        Rule { threshold: CERTAIN, scoped: 1, ..Rule::default() }
    }

    #[test]
    fn an_armed_session_fails_a_call_in_scope() {
        assert_eq!(decide(&always(), &call()), Outcome::Injected);
    }

    #[test]
    fn a_session_acts_only_while_its_control_word_lies_in_the_future() {
        for armed_until in [0, 9, 10] {
            let call = Fake { armed_until, ..call() };
            assert_eq!(decide(&always(), &call), Outcome::Disarmed, "{armed_until}");
        }
        let call = Fake { armed_until: 11, ..call() };
        assert_eq!(decide(&always(), &call), Outcome::Injected);
    }

    #[test]
    fn interrupts_do_not_fail_on_behalf_of_the_task_they_interrupt() {
        let contexts = [
            (0x0000_0001, Outcome::Injected),    // preemption disabled
            (0x0000_0200, Outcome::Injected),    // soft interrupts disabled
            (0x0000_0100, Outcome::OutsideTask), // soft interrupt served
            (0x0001_0000, Outcome::OutsideTask), // hard interrupt
            (0x0010_0000, Outcome::OutsideTask), // NMI
            (0x8000_0000, Outcome::Injected),    // x86: no reschedule needed
        ];
        for (preempt_count, outcome) in contexts {
            let call = Fake { preempt_count, ..call() };
            assert_eq!(decide(&always(), &call), outcome, "{preempt_count:#x}");
        }
    }

    #[test]
    fn a_rule_without_a_scope_covers_every_task() {
        let outside = Fake { in_scope: false, ..call() };
        assert_eq!(decide(&always(), &outside), Outcome::OutOfScope);
        let everywhere = Rule { scoped: 0, ..always() };
        assert_eq!(decide(&everywhere, &outside), Outcome::Injected);
    }

    #[test]
    fn a_rule_without_a_scope_leaves_exempt_processes_alone() {
        let exempt = Fake { exempt: true, ..call() };
        let everywhere = Rule { scoped: 0, ..always() };
        assert_eq!(decide(&everywhere, &exempt), Outcome::Exempt);
        assert_eq!(decide(&always(), &exempt), Outcome::Injected);
    }

    #[test]
    fn guards_keep_what_must_not_fail_from_failing() {
        let guard = Guard {
            pointer_argument: 1,
            refused_pointer_at: 76,
            flags_argument: 2,
            refused_flags: 8,
        };
        let rule = Rule { guard, ..always() };
        let outcome = |arguments| decide(&rule, &Fake { arguments, ..call() });
        assert_eq!(outcome([77, 0]), Outcome::Guarded);
        assert_eq!(outcome([78, 0b1100]), Outcome::Guarded);
        assert_eq!(outcome([78, 0b0100]), Outcome::Injected);
    }

    #[test]
    fn the_threshold_splits_the_random_values_exactly() {
        assert!(!hit(0, 0));
        assert!(hit(1, 0));
        assert!(!hit(1, 1));
        assert!(hit(CERTAIN, u32::MAX));
        assert!(!hit(CERTAIN - 1, u32::MAX));
    }

    #[test]
    fn no_dice_are_thrown_for_calls_out_of_scope() {
        let outside = Fake { in_scope: false, ..call() };
        decide(&always(), &outside);
        assert_eq!(outside.asked.get(), 0);
    }
}
