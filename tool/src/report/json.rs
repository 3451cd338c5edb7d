//! The same for programs: one object a line, as docs/json.md describes.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Asked, Places, Traced, interval::interval};
use crate::{
    plan::Plan,
    running::KernelWarning,
    session::{Ended, FunctionReport, RuleReport},
};

/// Raised when a field changes its meaning or goes; not when one is added.
pub const VERSION: u32 = 1;

fn line(kind: &str, body: Value) -> String {
    let mut object = json!({ "version": VERSION, "kind": kind });
    if let (Some(object), Value::Object(body)) = (object.as_object_mut(), body) {
        object.extend(body);
    }
    format!("{object}\n")
}

pub fn start(plan: &Plan, asked: &Asked) -> String {
    let functions: Vec<Value> = plan
        .functions
        .iter()
        .map(|function| {
            json!({
                "function": function.name,
                "mechanism": function.mechanism.to_string(),
                "rules": function.rules.iter().map(rule_asked).collect::<Vec<_>>(),
            })
        })
        .collect();
    line("start", json!({ "seed": asked.seed, "functions": functions }))
}

fn rule_asked(rule: &crate::plan::PlannedRule) -> Value {
    json!({
        "value": rule.value.number(),
        "rate": rule.rate.probability(),
        "when": rule.when.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "times": rule.times,
    })
}

pub fn injection(traced: &Traced, places: &Places) -> String {
    line(
        "injection",
        json!({
            "time": traced.event.time,
            "call": traced.event.number,
            "pid": traced.event.process,
            "tid": traced.event.thread,
            "comm": traced.comm(),
            "function": traced.function,
            "value": traced.value,
            "stack": stack(&traced.stack, places),
        }),
    )
}

pub fn kernel_warning(warning: &KernelWarning) -> String {
    let time = warning.time.as_secs_f64();
    line("kernel-warning", json!({ "time": time, "text": warning.text }))
}

pub fn summary(ended: &Ended, asked: &Asked, places: &Places) -> String {
    let functions: Vec<Value> =
        ended.functions.iter().map(|function| function_report(function, places)).collect();
    line(
        "summary",
        json!({
            "seed": asked.seed,
            "functions": functions,
            "missed": ended.missed,
            "tasks_lost": ended.tasks_lost,
            "events_lost": ended.events_lost,
            "stacks_lost": ended.stacks_lost,
        }),
    )
}

fn function_report(function: &FunctionReport, places: &Places) -> Value {
    json!({
        "function": function.planned.name,
        "mechanism": function.planned.mechanism.to_string(),
        "key": function.key.as_ref().map(|key| {
            json!({ "name": key.name, "before": key.before, "after": key.after })
        }),
        "rules": function.rules.iter().map(|rule| rule_report(rule, places)).collect::<Vec<_>>(),
    })
}

#[derive(Serialize)]
struct RuleCounts {
    seen: u64,
    interrupts: u64,
    exempt: u64,
    in_scope: u64,
    guarded: u64,
    eligible: u64,
    spent: u64,
    injected: u64,
}

fn rule_report(rule: &RuleReport, places: &Places) -> Value {
    let counts = rule.counts;
    let (low, high) = interval(counts.injected + counts.spent, counts.eligible);
    let counts = RuleCounts {
        seen: counts.seen,
        interrupts: counts.outside_task,
        exempt: counts.exempt,
        in_scope: counts.in_scope,
        guarded: counts.guarded,
        eligible: counts.eligible,
        spent: counts.spent,
        injected: counts.injected,
    };
    let stacks: Vec<Value> = rule
        .stacks
        .iter()
        .map(|hits| {
            json!({
                "count": hits.count,
                "first_call": hits.first,
                "stack": stack(&hits.addresses, places),
            })
        })
        .collect();
    json!({
        "asked": rule_asked(&rule.planned),
        "counts": counts,
        "interval": [low, high],
        "stacks": stacks,
    })
}

fn stack(addresses: &[u64], places: &Places) -> Vec<String> {
    addresses.iter().map(|address| places.name(*address)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::summary::tests::*, *};

    #[test]
    fn a_summary_is_one_line_with_version_and_kind() {
        let text = summary(&ended(counts(50, 20, 20, 2)), &Asked::default(), &Places::default());
        assert_eq!(text.lines().count(), 1);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["version"], VERSION);
        assert_eq!(value["kind"], "summary");
        let rule = &value["functions"][0]["rules"][0];
        assert_eq!(rule["counts"]["injected"], 2);
        assert_eq!(rule["asked"]["value"], -12);
        assert_eq!(rule["stacks"][0]["stack"][0], "0x10");
        assert_eq!(value["functions"][0]["key"]["after"], 0);
    }
}
