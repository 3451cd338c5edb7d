//! Whether a run did what was asked.

use super::Asked;
use crate::session::{Ended, FunctionReport};

/// What speaks against it: one line a reason, with what to do.
pub fn verdict(ended: &Ended, asked: &Asked) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    if !asked.allow_unused {
        reasons.extend(idle_functions(ended, asked));
    }
    let injected: u64 = ended
        .functions
        .iter()
        .flat_map(|function| &function.rules)
        .map(|rule| rule.counts.injected)
        .sum();
    if let Some(expected) = asked.expect.filter(|expected| injected < *expected) {
        reasons.push(format!(
            "{injected} calls were made to fail, and at least {expected} were expected; raise --rate, \
             or let the workload do more"
        ));
    }
    reasons
}

/// A glob means whatever is there: that some of it was never called is no surprise, that nothing was is one.
fn idle_functions(ended: &Ended, asked: &Asked) -> Vec<String> {
    let (named, meant): (Vec<_>, Vec<_>) =
        ended.functions.iter().partition(|function| function.planned.named);
    let mut reasons: Vec<String> =
        named.into_iter().filter_map(|function| idle(function, asked)).collect();
    match &meant[..] {
        [] => {}
        [only] => reasons.extend(idle(only, asked)),
        _ if meant.iter().any(|function| idle(function, asked).is_none()) => {}
        _ => reasons.push(format!(
            "none of the {} functions that globs matched was called in scope; choose functions that \
             this workload reaches, or accept it with --allow-unused",
            meant.len()
        )),
    }
    reasons
}

fn idle(function: &FunctionReport, asked: &Asked) -> Option<String> {
    let name = &function.planned.name;
    let most = |field: fn(&crate::session::Counts) -> u64| {
        function.rules.iter().map(|rule| field(&rule.counts)).max().unwrap_or(0)
    };
    let accept = "or accept it with --allow-unused";
    let seen = most(|counts| counts.seen);
    if seen == 0 {
        let why = if name.contains("_sys_clock_gettime") || name.contains("_sys_gettimeofday") {
            "programs get this from the vDSO, without a system call"
        } else {
            "choose a function that this workload reaches"
        };
        return Some(format!("{name} was attached, but never called: {why}, {accept}"));
    }
    if most(|counts| counts.in_scope) > 0 {
        return (most(|counts| counts.eligible) == 0).then(|| {
            format!(
                "{name} was called in scope, but never eligible: all calls were guarded or outside \
                 --when; widen it, {accept}"
            )
        });
    }
    let outside = most(|counts| counts.outside_task);
    let why = if outside == seen {
        "only interrupts called it; --irq hits them".to_owned()
    } else if asked.scoped {
        "choose another function, or --kthreads if kernel threads do its work".to_owned()
    } else {
        "only kernel threads, interrupts or exempt processes called it; see --kthreads".to_owned()
    };
    Some(format!("{name} was called {seen} times, but never in scope: {why}, {accept}"))
}
