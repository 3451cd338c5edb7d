//! The plan as the programs read it: functions, rules, and who is in scope.

use aya::maps::{Array, MapData};
use inject_common::map::{Function, Guard, Rule, Scope, UNLIMITED, When, flag};

use super::{ScopeOptions, SessionOptions, commit::SessionFunction, kernel};
use crate::{
    mechanism::{MechanismError, Object},
    plan::PlannedRule,
    running::Running,
};

/// Writes `FUNCTIONS` and `RULES`.
pub(super) fn write(
    object: &mut Object,
    running: &Running,
    functions: &[SessionFunction],
    options: &SessionOptions,
) -> Result<(), MechanismError> {
    let mut rules = Vec::new();
    let mut places = Vec::new();
    for SessionFunction { planned, .. } in functions {
        let guard = kernel::guard(running, &planned.name, options.guards);
        places.push(Function { first_rule: rules.len() as u32, rules: planned.rules.len() as u32 });
        for planned in &planned.rules {
            // Each rule has dice of its own, also on a function that has several.
            let seed = options.seed.wrapping_add(rules.len() as u64);
            rules.push(rule(planned, &options.scope, guard, seed));
        }
    }
    let failed = |name| move |source| MechanismError::MapCall { name, source };
    let mut map: Array<&mut MapData, [u32; 2]> = array(object, "FUNCTIONS")?;
    for (index, Function { first_rule, rules }) in places.into_iter().enumerate() {
        map.set(index as u32, [first_rule, rules], 0).map_err(failed("FUNCTIONS"))?;
    }
    let mut map: Array<&mut MapData, [u64; RULE_WORDS]> = array(object, "RULES")?;
    for (index, rule) in rules.iter().enumerate() {
        map.set(index as u32, words(rule), 0).map_err(failed("RULES"))?;
    }
    Ok(())
}

fn array<'a, T: aya::Pod>(
    object: &'a mut Object,
    name: &'static str,
) -> Result<Array<&'a mut MapData, T>, MechanismError> {
    object
        .ebpf()
        .map_mut(name)
        .ok_or_else(|| MechanismError::Object(format!("it has no map {name}")))?
        .try_into()
        .map_err(|source| MechanismError::MapCall { name, source })
}

fn rule(planned: &PlannedRule, scope: &ScopeOptions, guard: Guard, seed: u64) -> Rule {
    let mut rule = Rule {
        value: planned.value.number(),
        threshold: planned.rate.threshold(),
        seed,
        times: planned.times.unwrap_or(UNLIMITED),
        guard,
        scope: Scope {
            comm: scope.comm.unwrap_or_default(),
            uid: scope.uid.unwrap_or(0),
            reserved: 0,
        },
        flags: scope.flags(),
        whens: planned.when.len() as u32,
        ..Rule::default()
    };
    if planned.rate.threshold() == 0 {
        rule.flags |= flag::OBSERVE;
    }
    for (to, when) in rule.when.iter_mut().zip(&planned.when) {
        *to = when.range();
    }
    rule
}

const RULE_WORDS: usize = size_of::<Rule>() / 8;

/// A rule as it lies in memory. By hand, so that no unsafe cast is needed; exhaustive, so that no field is forgotten.
fn words(rule: &Rule) -> [u64; RULE_WORDS] {
    let Rule { value, threshold, seed, times, guard, scope, flags, whens, when } = *rule;
    let Guard { pointer_argument, flags_argument, refused_pointer_at, refused_flags } = guard;
    let Scope { comm, uid, reserved } = scope;
    let half = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&comm[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    let mut words = [0; RULE_WORDS];
    let head = [
        value as u64,
        threshold,
        seed,
        times,
        pair(pointer_argument, flags_argument),
        refused_pointer_at,
        refused_flags,
        half(0),
        half(8),
        pair(uid, reserved),
        pair(flags, whens),
    ];
    words[..head.len()].copy_from_slice(&head);
    for (to, When { first, last, step }) in words[head.len()..].chunks_exact_mut(3).zip(when) {
        to.copy_from_slice(&[first, last, step]);
    }
    words
}

fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field has another value, so one in the wrong place shows.
    #[test]
    fn words_lie_where_the_fields_lie() {
        use std::mem::offset_of;
        let mut rule = Rule {
            value: -12,
            threshold: 2,
            seed: 3,
            times: 4,
            guard: Guard {
                pointer_argument: 5,
                flags_argument: 6,
                refused_pointer_at: 7,
                refused_flags: 8,
            },
            scope: Scope { comm: *b"0123456789abcdef", uid: 9, reserved: 10 },
            flags: 11,
            whens: 12,
            ..Rule::default()
        };
        rule.when[5] = When { first: 13, last: 14, step: 15 };
        let bytes: Vec<u8> = words(&rule).into_iter().flat_map(u64::to_ne_bytes).collect();
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        let short = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let guard = offset_of!(Rule, guard);
        let scope = offset_of!(Rule, scope);
        assert_eq!(long(offset_of!(Rule, value)) as i64, -12);
        assert_eq!(long(offset_of!(Rule, threshold)), 2);
        assert_eq!(long(offset_of!(Rule, seed)), 3);
        assert_eq!(long(offset_of!(Rule, times)), 4);
        assert_eq!(short(guard + offset_of!(Guard, pointer_argument)), 5);
        assert_eq!(short(guard + offset_of!(Guard, flags_argument)), 6);
        assert_eq!(long(guard + offset_of!(Guard, refused_pointer_at)), 7);
        assert_eq!(long(guard + offset_of!(Guard, refused_flags)), 8);
        let comm = scope + offset_of!(Scope, comm);
        assert_eq!(&bytes[comm..comm + 16], b"0123456789abcdef");
        assert_eq!(short(scope + offset_of!(Scope, uid)), 9);
        assert_eq!(short(scope + offset_of!(Scope, reserved)), 10);
        assert_eq!(short(offset_of!(Rule, flags)), 11);
        assert_eq!(short(offset_of!(Rule, whens)), 12);
        let last = offset_of!(Rule, when) + 5 * size_of::<When>();
        assert_eq!([long(last), long(last + 8), long(last + 16)], [13, 14, 15]);
    }
}
