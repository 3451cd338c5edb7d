//! The summary at the end of a run, for people.

use std::fmt::Write as _;

use super::{Places, interval::interval};
use crate::{
    rule::percent,
    session::{Counts, Ended, FunctionReport, KeyReport, RuleReport},
};

/// What the run was asked for, as far as reports need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// Whether anything limits whom the rules are for.
    pub scoped: bool,
    /// Of the dice.
    pub seed: u64,
    /// How many calls have to fail at least.
    pub expect: Option<u64>,
    /// Whether functions that nobody called are fine.
    pub allow_unused: bool,
}

/// Stacks that are shown of each rule, and places of each stack.
const STACKS: usize = 5;
const DEPTH: usize = 8;

/// Several lines a function, each without a prefix.
pub fn summary(ended: &Ended, asked: &Asked, places: &Places) -> String {
    let mut text = String::new();
    let silent = |function: &&FunctionReport| {
        !function.planned.named && function.rules.iter().all(|rule| rule.counts.seen == 0)
    };
    let unheard = ended.functions.iter().filter(silent).count();
    for function in ended.functions.iter().filter(|function| !silent(function)) {
        for rule in &function.rules {
            let _ = writeln!(text, "{}: {}", function.planned.name, calls(rule, asked));
            rate_lines(&mut text, rule, asked);
            stack_lines(&mut text, rule, places);
        }
        function_lines(&mut text, function, ended.missed);
    }
    if unheard > 0 {
        let _ = writeln!(text, "{unheard} functions that a glob matched were never called");
    }
    for (count, what) in [
        (ended.tasks_lost, "forks could not be followed: those processes were not in scope"),
        (ended.events_lost, "injections could not be reported one by one"),
        (ended.stacks_lost, "calls were hit whose stacks could not be kept"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "{count} {what}");
        }
    }
    text
}

fn calls(rule: &RuleReport, asked: &Asked) -> String {
    let Counts { seen, outside_task, exempt, in_scope, guarded, eligible, spent, injected } =
        rule.counts;
    let mut text = format!("{seen} calls seen, ");
    let narrowed = asked.scoped || in_scope != seen;
    for (count, what, wanted) in [
        (outside_task, "in interrupts", outside_task > 0),
        (exempt, "exempt", exempt > 0),
        (in_scope, "in scope", narrowed),
        (guarded, "guarded", guarded > 0),
        (eligible, "eligible", eligible != in_scope - guarded),
        (spent, "beyond --times or another rule's", spent > 0),
    ] {
        if wanted {
            let _ = write!(text, "{count} {what}, ");
        }
    }
    let _ = write!(text, "{injected} injected ({})", rule.planned.value);
    text
}

fn rate_lines(text: &mut String, rule: &RuleReport, asked: &Asked) {
    let Counts { eligible, injected, spent, .. } = rule.counts;
    if rule.planned.rate.threshold() == 0 {
        let _ = writeln!(text, "  rate       asked 0 %: observed only");
        return;
    }
    let _ = write!(text, "  rate       asked {}, ", rule.planned.rate);
    if eligible == 0 {
        let _ = writeln!(text, "observed ?");
        return;
    }
    // What the dice said, whatever became of it then.
    let hits = injected + spent;
    let (low, high) = interval(hits, eligible);
    let observed = percent(hits as f64 / eligible as f64);
    let _ =
        writeln!(text, "observed {observed} (95 % interval {} to {})", percent(low), percent(high));
    if rule.planned.rate.probability() < 1.0 {
        let _ = writeln!(text, "  seed       {}", asked.seed);
    }
}

fn stack_lines(text: &mut String, rule: &RuleReport, places: &Places) {
    for stack in rule.stacks.iter().take(STACKS) {
        let _ = writeln!(
            text,
            "  {:>9}  {} (first: call {})",
            format!("{}x", stack.count),
            places.stack(&stack.addresses, DEPTH),
            stack.first
        );
    }
    if let Some(more) = rule.stacks.len().checked_sub(STACKS).filter(|more| *more > 0) {
        let _ = writeln!(text, "             … and {more} more stacks");
    }
}

fn function_lines(text: &mut String, function: &FunctionReport, missed: Option<u64>) {
    let planned = &function.planned;
    let missed = missed.map_or_else(|| "unknown".to_owned(), |missed| missed.to_string());
    let _ = writeln!(
        text,
        "  mechanism  {} ({}), calls missed: {missed}",
        planned.mechanism, planned.because
    );
    if let Some(key) = &function.key {
        let _ = writeln!(text, "  key        {}", key_line(key));
    }
}

fn key_line(key: &KeyReport) -> String {
    let name = key.name.as_deref().unwrap_or("(name unknown without an image)");
    // The session verified that the key was on before it armed.
    let state = |count: u32| match count {
        0 => "off".to_owned(),
        1 => "on".to_owned(),
        more => format!("on ({more} holders)"),
    };
    let after = key.after.map_or_else(|| "?".to_owned(), state);
    format!("{name}: {} -> on -> {after}", state(key.before))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        image::ErrorType,
        plan::{Mechanism, Planned, PlannedRule},
        report::verdict,
        rule::{self, Value},
        session::StackHits,
    };

    pub fn ended(counts: Counts) -> Ended {
        let name = "should_failslab".to_owned();
        let value = Value::choose(&rule::Asked::Default, &name, ErrorType::Errno, false).unwrap();
        let rule = PlannedRule { value, rate: "1%".parse().unwrap(), when: vec![], times: None };
        Ended {
            functions: vec![FunctionReport {
                planned: Planned {
                    name,
                    address: 1,
                    error_type: ErrorType::Errno,
                    rules: vec![rule.clone()],
                    named: true,
                    mechanism: Mechanism::KprobeMulti,
                    because: "one link for all functions".to_owned(),
                    btf_id: None,
                },
                rules: vec![RuleReport {
                    planned: rule,
                    counts,
                    stacks: vec![StackHits { addresses: vec![16], count: 20, first: 3 }],
                }],
                key: Some(KeyReport {
                    name: Some("should_failslab_active".to_owned()),
                    before: 0,
                    after: Some(0),
                }),
            }],
            missed: None,
            tasks_lost: 0,
            events_lost: 0,
            stacks_lost: 0,
            last_events: vec![],
            problems: vec![],
        }
    }

    pub fn counts(seen: u64, in_scope: u64, eligible: u64, injected: u64) -> Counts {
        Counts { seen, in_scope, eligible, injected, ..Counts::default() }
    }

    #[test]
    fn the_summary_says_what_happened() {
        let asked = Asked { scoped: true, seed: 7, ..Asked::default() };
        assert_eq!(
            summary(&ended(counts(5000, 2000, 2000, 21)), &asked, &Places::default()),
            "should_failslab: 5000 calls seen, 2000 in scope, 21 injected (ENOMEM)\n\
             \x20 rate       asked 1 %, observed 1.05 % (95 % interval 0.688 % to 1.6 %)\n\
             \x20 seed       7\n\
             \x20       20x  0x10 (first: call 3)\n\
             \x20 mechanism  kprobe-multi (one link for all functions), calls missed: unknown\n\
             \x20 key        should_failslab_active: off -> on -> off\n"
        );
    }

    #[test]
    fn a_key_with_other_holders_stays_on() {
        let mut ended = ended(counts(1, 1, 1, 1));
        ended.functions[0].key = Some(KeyReport { name: None, before: 1, after: Some(2) });
        let text = summary(&ended, &Asked::default(), &Places::default());
        assert!(text.contains("on -> on -> on (2 holders)"), "{text}");
    }

    #[test]
    fn a_run_that_hit_nobody_did_not_do_what_was_asked() {
        let asked = Asked { scoped: true, ..Asked::default() };
        let reason = |counts| verdict(&ended(counts), &asked).join("\n");
        assert_eq!(reason(counts(10, 5, 5, 0)), "");
        assert!(reason(counts(0, 0, 0, 0)).contains("never called"));
        assert!(reason(counts(10, 0, 0, 0)).contains("never in scope"));
        assert!(reason(counts(10, 5, 0, 0)).contains("never eligible"));
        let allowed = Asked { allow_unused: true, ..asked };
        assert!(verdict(&ended(counts(0, 0, 0, 0)), &allowed).is_empty());
        let mut by_glob = ended(counts(0, 0, 0, 0));
        by_glob.functions[0].planned.named = false;
        by_glob.functions.push(by_glob.functions[0].clone());
        assert!(verdict(&by_glob, &asked)[0].contains("none of the 2 functions"));
        by_glob.functions[0].rules[0].counts = counts(5, 5, 5, 1);
        assert!(verdict(&by_glob, &asked).is_empty());
        let expecting = Asked { expect: Some(3), ..asked };
        assert!(verdict(&ended(counts(9, 9, 9, 3)), &expecting).is_empty());
        assert!(verdict(&ended(counts(9, 9, 9, 2)), &expecting)[0].contains("at least 3"));
    }
}
