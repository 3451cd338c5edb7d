//! The summary at the end of a run.

use std::fmt::Write as _;

use crate::{
    exit::Exit,
    rule::percent,
    session::{Ended, FunctionReport, KeyReport},
};

/// What the run was asked for, as far as the summary needs it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Whether only a command's processes were in scope.
    pub scoped: bool,
}

/// Several lines a function, each without a prefix.
pub fn summary(ended: &Ended, asked: Asked) -> String {
    let mut text = String::new();
    for function in &ended.functions {
        let _ = writeln!(text, "{}: {}", function.planned.name, calls(function, asked));
        let _ = writeln!(text, "  rate       {}", rate(function));
        let _ = writeln!(
            text,
            "  mechanism  {} ({})",
            function.planned.mechanism, function.planned.because
        );
        if let Some(key) = &function.key {
            let _ = writeln!(text, "  key        {}", key_line(key));
        }
    }
    if ended.tasks_lost > 0 {
        let _ = writeln!(
            text,
            "{} forks could not be followed: those processes were not in scope",
            ended.tasks_lost
        );
    }
    text
}

fn calls(function: &FunctionReport, asked: Asked) -> String {
    let mut text = format!("{} calls seen, ", function.seen);
    if asked.scoped {
        let _ = write!(text, "{} in scope, ", function.in_scope);
    }
    for (count, what) in [
        (function.outside_task, "in interrupts"),
        (function.exempt, "exempt"),
        (function.guarded, "guarded"),
    ] {
        if count > 0 {
            let _ = write!(text, "{count} {what}, ");
        }
    }
    let _ = write!(text, "{} injected ({})", function.injected, function.planned.value);
    text
}

fn rate(function: &FunctionReport) -> String {
    let asked = function.planned.rate;
    let eligible = function.in_scope - function.guarded;
    if eligible == 0 {
        return format!("asked {asked}, observed ?");
    }
    let observed = function.injected as f64 / eligible as f64;
    format!("asked {asked}, observed {}", percent(observed))
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

/// Whether the run did what was asked; if not, one line a function that says why not.
pub fn verdict(ended: &Ended, asked: Asked) -> Result<(), (Exit, Vec<String>)> {
    let idle: Vec<String> =
        ended.functions.iter().filter_map(|function| idle(function, asked)).collect();
    if idle.is_empty() { Ok(()) } else { Err((Exit::NotDone, idle)) }
}

fn idle(function: &FunctionReport, asked: Asked) -> Option<String> {
    let name = &function.planned.name;
    if function.seen == 0 {
        return Some(format!(
            "{name} was attached, but never called; choose a function that this workload reaches, \
             or accept it with --allow-unused"
        ));
    }
    if function.in_scope == 0 {
        let by = if asked.scoped { "by COMMAND" } else { "by a process that may be hit" };
        return Some(format!(
            "{name} was called {} times, but never {by}; choose another function, \
             or accept it with --allow-unused",
            function.seen
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        image::ErrorType,
        plan::{Mechanism, Planned},
        rule::{self, Value},
    };

    fn ended(seen: u64, in_scope: u64, injected: u64) -> Ended {
        let name = "should_failslab".to_owned();
        let value = Value::choose(&rule::Asked::Default, &name, ErrorType::Errno).unwrap();
        Ended {
            functions: vec![FunctionReport {
                planned: Planned {
                    name,
                    address: 1,
                    error_type: ErrorType::Errno,
                    value,
                    rate: "1%".parse().unwrap(),
                    mechanism: Mechanism::KprobeMulti,
                    because: "one link for all functions".to_owned(),
                    btf_id: None,
                },
                seen,
                outside_task: 0,
                exempt: 0,
                in_scope,
                guarded: 0,
                injected,
                key: Some(KeyReport {
                    name: Some("should_failslab_active".to_owned()),
                    before: 0,
                    after: Some(0),
                }),
            }],
            tasks_lost: 0,
            problems: vec![],
        }
    }

    #[test]
    fn the_summary_says_what_happened() {
        let text = summary(&ended(5000, 2000, 21), Asked { scoped: true });
        assert_eq!(
            text,
            "should_failslab: 5000 calls seen, 2000 in scope, 21 injected (ENOMEM)\n\
             \x20 rate       asked 1 %, observed 1.05 %\n\
             \x20 mechanism  kprobe-multi (one link for all functions)\n\
             \x20 key        should_failslab_active: off -> on -> off\n"
        );
    }

    #[test]
    fn a_key_with_other_holders_stays_on() {
        let mut ended = ended(1, 1, 1);
        ended.functions[0].key = Some(KeyReport { name: None, before: 1, after: Some(2) });
        let text = summary(&ended, Asked { scoped: false });
        assert!(text.contains("on -> on -> on (2 holders)"), "{text}");
    }

    #[test]
    fn a_run_that_hit_nobody_did_not_do_what_was_asked() {
        let asked = Asked { scoped: true };
        assert!(verdict(&ended(10, 5, 0), asked).is_ok());
        let (exit, lines) = verdict(&ended(0, 0, 0), asked).unwrap_err();
        assert_eq!(exit.status(), 123);
        assert!(lines[0].contains("never called"), "{lines:?}");
        let (_, lines) = verdict(&ended(10, 0, 0), asked).unwrap_err();
        assert!(lines[0].contains("never by COMMAND"), "{lines:?}");
    }
}
