use core::cell::Cell;

use super::*;
use crate::map::{CERTAIN, Scope, When};

struct Fake {
    armed_until: u64,
    preempt_count: u32,
    kernel_thread: bool,
    exempt: bool,
    followed: bool,
    named: bool,
    comm: [u8; 16],
    uid: u32,
    in_cgroup: bool,
    arguments: [u64; 2],
    numbered: Cell<u64>,
    tickets: Cell<u64>,
}

impl Call for Fake {
    fn now(&self) -> u64 {
        10
    }
    fn armed_until(&self) -> u64 {
        self.armed_until
    }
    fn preempt_count(&self) -> u32 {
        self.preempt_count
    }
    fn is_kernel_thread(&self) -> bool {
        self.kernel_thread
    }
    fn process_is_exempt(&self) -> bool {
        self.exempt
    }
    fn task_is_followed(&self) -> bool {
        self.followed
    }
    fn process_is_named(&self) -> bool {
        self.named
    }
    fn comm(&self) -> [u8; 16] {
        self.comm
    }
    fn uid(&self) -> u32 {
        self.uid
    }
    fn is_in_cgroup(&self) -> bool {
        self.in_cgroup
    }
    fn argument(&self, index: u32) -> u64 {
        self.arguments[index as usize]
    }
    fn kernel_word(&self, address: u64) -> u64 {
        address + 1
    }
    fn number(&self, per_task: bool) -> u64 {
        self.numbered.set(self.numbered.get() + if per_task { 100 } else { 1 });
        self.numbered.get()
    }
    fn ticket(&self) -> u64 {
        self.tickets.set(self.tickets.get() + 1);
        self.tickets.get() - 1
    }
}

fn call() -> Fake {
    Fake {
        armed_until: 20,
        preempt_count: 0,
        kernel_thread: false,
        exempt: false,
        followed: false,
        named: false,
        comm: [0; 16],
        uid: 0,
        in_cgroup: false,
        arguments: [0; 2],
        numbered: Cell::new(0),
        tickets: Cell::new(0),
    }
}

fn always() -> Rule {
    Rule { threshold: CERTAIN, times: UNLIMITED, ..Rule::default() }
}

fn outcome(rule: &Rule, call: &Fake) -> Outcome {
    decide(rule, call).outcome
}

#[test]
fn a_session_acts_only_while_its_control_word_lies_in_the_future() {
    for (armed_until, expected) in [
        (0, Outcome::Disarmed),
        (9, Outcome::Disarmed),
        (10, Outcome::Disarmed),
        (11, Outcome::Injected),
    ] {
        assert_eq!(outcome(&always(), &Fake { armed_until, ..call() }), expected, "{armed_until}");
    }
}

#[test]
fn interrupts_do_not_fail_on_behalf_of_the_task_they_interrupt() {
    for (preempt_count, expected) in [
        (0x0000_0001, Outcome::Injected),    // preemption disabled
        (0x0000_0200, Outcome::Injected),    // soft interrupts disabled
        (0x0000_0100, Outcome::OutsideTask), // soft interrupt served
        (0x0001_0000, Outcome::OutsideTask), // hard interrupt
        (0x0010_0000, Outcome::OutsideTask), // NMI
        (0x8000_0000, Outcome::Injected),    // x86: no reschedule needed
    ] {
        let call = Fake { preempt_count, ..call() };
        assert_eq!(outcome(&always(), &call), expected, "{preempt_count:#x}");
        let irq = Rule { flags: flag::IRQ, ..always() };
        assert_eq!(outcome(&irq, &call), Outcome::Injected, "{preempt_count:#x}");
    }
}

#[test]
fn each_scope_lets_its_own_tasks_through_and_no_others() {
    let scope = Scope { comm: *b"cat\0\0\0\0\0\0\0\0\0\0\0\0\0", uid: 7, reserved: 0 };
    let inside: [(u32, Fake); 5] = [
        (flag::TASKS, Fake { followed: true, ..call() }),
        (flag::PROCESSES, Fake { named: true, ..call() }),
        (flag::COMM, Fake { comm: scope.comm, ..call() }),
        (flag::UID, Fake { uid: 7, ..call() }),
        (flag::CGROUP, Fake { in_cgroup: true, ..call() }),
    ];
    for (flags, inside) in inside {
        let rule = Rule { flags, scope, ..always() };
        assert_eq!(outcome(&rule, &inside), Outcome::Injected, "{flags}");
        assert_eq!(outcome(&rule, &call()), Outcome::OutOfScope, "{flags}");
        // Scopes add up: one is not enough.
        let both = Rule { flags: flag::ANY_SCOPE, scope, ..always() };
        assert_eq!(outcome(&both, &inside), Outcome::OutOfScope, "{flags}");
    }
    let caterpillar = Fake { comm: *b"caterpillar\0\0\0\0\0", ..call() };
    assert_eq!(
        outcome(&Rule { flags: flag::COMM, scope, ..always() }, &caterpillar),
        Outcome::OutOfScope
    );
}

#[test]
fn kernel_threads_are_in_only_when_asked_for_and_then_in_every_scope() {
    let thread = Fake { kernel_thread: true, ..call() };
    assert_eq!(outcome(&always(), &thread), Outcome::OutOfScope);
    let with = Rule { flags: flag::KTHREADS | flag::TASKS, ..always() };
    assert_eq!(outcome(&with, &thread), Outcome::Injected);
    assert_eq!(outcome(&with, &call()), Outcome::OutOfScope);
}

#[test]
fn exempt_processes_are_left_alone() {
    assert_eq!(outcome(&always(), &Fake { exempt: true, ..call() }), Outcome::Exempt);
}

#[test]
fn guards_keep_what_must_not_fail_from_failing() {
    let guard =
        Guard { pointer_argument: 1, refused_pointer_at: 76, flags_argument: 2, refused_flags: 8 };
    let rule = Rule { guard, ..always() };
    let with = |arguments| outcome(&rule, &Fake { arguments, ..call() });
    assert_eq!(with([77, 0]), Outcome::Guarded);
    assert_eq!(with([78, 0b1100]), Outcome::Guarded);
    assert_eq!(with([78, 0b0100]), Outcome::Injected);
}

#[test]
fn only_calls_that_could_fail_are_numbered() {
    let call = call();
    let guard = Guard { flags_argument: 1, refused_flags: 1, ..Guard::default() };
    decide(&Rule { flags: flag::TASKS, ..always() }, &call);
    assert_eq!(call.numbered.get(), 0);
    let call = Fake { arguments: [1, 0], ..call };
    decide(&Rule { guard, ..always() }, &call);
    assert_eq!(call.numbered.get(), 0);
    assert_eq!(decide(&always(), &call).number, 1);
    assert_eq!(decide(&Rule { flags: flag::COUNT_PER_TASK, ..always() }, &call).number, 101);
}

#[test]
fn when_is_the_union_of_its_ranges() {
    let mut rule = Rule { whens: 3, ..always() };
    rule.when[0] = When { first: 3, last: 3, step: 1 };
    rule.when[1] = When { first: 10, last: 14, step: 2 };
    rule.when[2] = When { first: 100, last: u64::MAX, step: 50 };
    let call = call();
    let hits: Vec<u64> = (1..=200)
        .map(|_| decide(&rule, &call))
        .filter(|decision| decision.outcome == Outcome::Injected)
        .map(|decision| decision.number)
        .collect();
    assert_eq!(hits, [3, 10, 12, 14, 100, 150, 200]);
}

#[test]
fn times_is_exact_and_tickets_are_taken_by_hits_only() {
    let rule = Rule { times: 2, threshold: CERTAIN / 2, seed: 5, ..always() };
    let call = call();
    let outcomes: Vec<Outcome> = (0..100).map(|_| outcome(&rule, &call)).collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!(count(Outcome::Injected), 2);
    assert!(count(Outcome::Spared) > 20 && count(Outcome::Spent) > 20, "{outcomes:?}");
}

#[test]
fn an_observing_rule_fails_nothing() {
    let rule = Rule { flags: flag::OBSERVE, ..always() };
    assert_eq!(outcome(&rule, &call()), Outcome::Observed);
}

#[test]
fn the_threshold_splits_the_random_values_exactly() {
    assert!(!hit(0, 0));
    assert!(hit(1, 0));
    assert!(!hit(1, 1));
    assert!(hit(CERTAIN, u32::MAX));
    assert!(!hit(CERTAIN - 1, u32::MAX));
}

/// Within 5 standard deviations, at rates from one in a million to all but one in a million.
#[test]
fn dice_keep_the_rate_at_its_extremes() {
    let calls = 20_000_000u64;
    for rate in [1e-6, 1e-3, 0.01, 0.5, 0.999_999] {
        let threshold = (rate * CERTAIN as f64) as u64;
        let hits = (1..=calls).filter(|number| hit(threshold, dice(42, *number))).count() as f64;
        let mean = calls as f64 * rate;
        let deviation = (mean * (1.0 - rate)).sqrt();
        assert!((hits - mean).abs() <= 5.0 * deviation, "{rate}: {hits} of {mean} ± {deviation}");
    }
}

#[test]
fn dice_depend_on_the_seed() {
    let row = |seed| (1..=64).map(|number| dice(seed, number)).collect::<Vec<_>>();
    assert_eq!(row(1), row(1));
    assert_ne!(row(1), row(2));
    // Neighbouring seeds do not give the same row, moved by one.
    assert_ne!(row(1)[1..], row(2)[..63]);
}
