//! One function: why a fault can or cannot arrive there.

use super::{Answer, Finding, Part, hooked::hooked, machine::Machine};
use crate::{
    image::{Calls, ErrorType},
    keys::{FunctionKey, KeyKnowledge, KeysError},
    listing::{FunctionCalls, RunningCalls, words},
    plan::{Facts, PlanError, Resolved, Target, mechanisms, resolve},
    running::Running,
};

/// Functions that newer kernels have only with an option of their own (since Linux 6.11).
const NEED_OPTION: [(&str, &str); 2] =
    [("should_failslab", "FAILSLAB"), ("should_fail_alloc_page", "FAIL_PAGE_ALLOC")];
const SINCE: (u32, u32) = (6, 11);

/// Asks everything about the function that a word names.
pub fn function(
    machine: &Machine,
    running: &Running,
    keys: &Result<KeyKnowledge, KeysError>,
    calls: &Result<RunningCalls, String>,
    word: &str,
) -> Vec<Part> {
    running.with_facts(|facts| match resolve(&facts, word, &[]) {
        Err(error) => vec![Part {
            function: Some(word.to_owned()),
            findings: vec![Finding::needed("listed", not_listed(machine, word, &error))],
        }],
        Ok(Resolved::Name(target)) => vec![part(&facts, keys, calls, &target)],
        Ok(Resolved::Glob(targets)) => {
            targets.iter().map(|target| part(&facts, keys, calls, target)).collect()
        }
    })
}

fn not_listed(machine: &Machine, word: &str, error: &PlanError) -> Answer {
    let option = NEED_OPTION.iter().find(|(name, _)| *name == word).map(|(_, option)| option);
    if let (PlanError::Unknown { .. }, Some(option)) = (error, option)
        && machine.version.is_none_or(|version| version >= SINCE)
        && machine.option(option) != Some(true)
    {
        return Answer::no(
            format!("since Linux 6.11 {word} is built only with CONFIG_{option}"),
            "boot a kernel that has it on",
        );
    }
    let text = error.to_string();
    match text.rsplit_once("; ") {
        // Errors end in what to do.
        Some((what, advice)) => Answer::no(what, advice),
        None => Answer::no(text, "'inject list' shows what can be failed"),
    }
}

fn part(
    facts: &Facts<'_>,
    keys: &Result<KeyKnowledge, KeysError>,
    calls: &Result<RunningCalls, String>,
    target: &Target,
) -> Part {
    let found = calls.as_ref().map(|calls| calls.by_address.get(&target.address));
    let mut findings = vec![
        Finding::needed("listed", listed(target)),
        Finding::needed(
            "called",
            match &found {
                Ok(Some(found)) => called(target, &found.calls),
                Ok(None) if target.module.is_some() => {
                    Answer::unknown("calls from modules are not searched")
                }
                Ok(None) => Answer::unknown("the kernel's image does not list it"),
                Err(why) => Answer::unknown(why.as_str()),
            },
        ),
        Finding::needed("key", key(keys, target, found.ok().flatten())),
    ];
    let mut ways = 0;
    let others = hooked(&[&target.name, &target.listed]);
    let returns_zero = target.error_type == ErrorType::Null;
    for (mechanism, answer) in mechanisms(facts, target, returns_zero) {
        let answer = match answer {
            Ok(()) => {
                ways += 1;
                Answer::yes("can be attached")
            }
            Err(reason) => match reason.split_once("; ") {
                Some((what, advice)) => Answer::no(what, advice),
                None => Answer::no(reason, "use the other mechanism"),
            },
        };
        findings.push(Finding::useful(&mechanism.to_string(), answer));
    }
    if ways == 0 {
        let answer = Answer::no("no mechanism takes it", "name another function, such as a caller");
        findings.push(Finding::needed("a mechanism", answer));
    }
    let others = match others {
        Some(hooked) => hooked.answer(),
        None => Answer::unknown("tracefs does not tell"),
    };
    findings.push(Finding::useful("others on it", others));
    Part { function: Some(target.name.clone()), findings }
}

fn listed(target: &Target) -> Answer {
    let place = match &target.module {
        Some(module) => format!(", in module {module}"),
        None => String::new(),
    };
    if target.fmod_ret_only {
        return Answer::yes("not in the list, but fmod_ret can fail it with an errno");
    }
    let also = if target.listed == target.name {
        String::new()
    } else {
        format!(", listed as {}", target.listed)
    };
    Answer::yes(format!("error type {}{place}{also}", target.error_type))
}

/// What the calls mean: can a fault arrive?
fn called(target: &Target, calls: &Calls) -> Answer {
    let name = &target.name;
    let (guarded, unguarded) = calls.count();
    let clones: Vec<String> = calls
        .clones
        .iter()
        .filter(|clone| clone.calls > 0)
        .map(|clone| format!("{} ({} calls)", clone.name, clone.calls))
        .collect();
    let clones = clones.join(", ");
    if guarded + unguarded + calls.pointers > 0 {
        let lost = match clones.as_str() {
            "" => String::new(),
            _ => format!("; but calls to {clones} are missed"),
        };
        return Answer::yes(format!("{}{lost}", words(calls)));
    }
    if !clones.is_empty() {
        return Answer::no(
            format!(
                "never: the compiler made clones and calls those, {clones}; no fault can arrive"
            ),
            format!("build the kernel with noinline and noipa on {name}, or name a caller"),
        );
    }
    Answer::no(
        "never: every call was inlined, dropped or runs at boot only; no fault can arrive",
        format!("name a function that calls {name}"),
    )
}

fn key(
    keys: &Result<KeyKnowledge, KeysError>,
    target: &Target,
    calls: Option<&FunctionCalls>,
) -> Answer {
    if target.fmod_ret_only {
        return Answer::yes("none");
    }
    let keys = match keys {
        Ok(keys) => keys,
        Err(error) => return split(&error.to_string()),
    };
    let key = match keys.of(&target.name, target.address) {
        Ok(key) => key,
        Err(error) => return split(&error.to_string()),
    };
    if let Err(error) = keys.require(&target.name, &key) {
        return split(&error.to_string());
    }
    match key {
        FunctionKey::None => Answer::yes("none: its calls are not guarded"),
        FunctionKey::Unknown => Answer::unknown("neither the helper nor an image tells"),
        FunctionKey::Guarded { name, count, .. } => {
            let name = name.unwrap_or_else(|| "a key without a name".to_owned());
            let state = match count {
                None => "state unknown".to_owned(),
                Some(0) => "off; inject turns it on for a run".to_owned(),
                Some(count) => format!("on, held {count} times"),
            };
            let sites = match calls.and_then(|calls| calls.sites) {
                Some(sites) => format!(", {sites} sites"),
                None => String::new(),
            };
            Answer::yes(format!("{name}{sites}, {state}"))
        }
    }
}

/// An error's text: what is wrong, then what to do.
fn split(text: &str) -> Answer {
    match text.rsplit_once("; ") {
        Some((what, advice)) => Answer::no(what, advice),
        None => Answer::no(text, "run 'inject check' without a function first"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{Call, CloneCalls};

    fn target() -> Target {
        Target {
            name: "f".to_owned(),
            listed: "f".to_owned(),
            address: 0,
            module: None,
            error_type: ErrorType::Errno,
            fmod_ret_only: false,
        }
    }

    fn call() -> Call {
        Call { address: 0, function: None, tail: false, guarded: false, init: false }
    }

    #[test]
    fn a_clone_that_takes_all_calls_is_named() {
        let clone = |calls| CloneCalls { name: "f.constprop.0".to_owned(), address: 1, calls };
        let mut calls = Calls { clones: vec![clone(3)], ..Calls::default() };
        let Answer::No { what, advice } = called(&target(), &calls) else { panic!() };
        assert!(what.contains("f.constprop.0 (3 calls)") && what.contains("no fault"), "{what}");
        assert!(advice.contains("noipa"), "{advice}");
        // One that nobody calls takes nothing, and one beside real calls takes some.
        calls.clones = vec![clone(0)];
        let Answer::No { what, .. } = called(&target(), &calls) else { panic!() };
        assert!(what.contains("inlined"), "{what}");
        calls = Calls { clones: vec![clone(3)], calls: vec![call()], pointers: 0 };
        let Answer::Yes(text) = called(&target(), &calls) else { panic!() };
        assert!(text.contains("1 unguarded") && text.contains("are missed"), "{text}");
    }

    #[test]
    fn a_table_of_pointers_is_a_way_to_be_called() {
        let calls = Calls { pointers: 1, ..Calls::default() };
        assert_eq!(called(&target(), &calls), Answer::yes("by pointer"));
    }

    #[test]
    fn newer_kernels_have_some_hooks_only_with_an_option() {
        let unknown = PlanError::Unknown { word: "should_failslab".to_owned(), nearest: vec![] };
        let with = |version| {
            let machine = Machine { version: Some(version), ..Machine::default() };
            let Answer::No { what, .. } = not_listed(&machine, "should_failslab", &unknown) else {
                panic!()
            };
            what
        };
        assert!(with((6, 12)).contains("CONFIG_FAILSLAB"));
        assert!(with((6, 1)).contains("unknown function"));
    }

    #[test]
    fn what_is_not_injectable_comes_with_the_nearest_that_is() {
        let error = PlanError::NotInjectable {
            name: "vfs_mkdir".to_owned(),
            nearest: vec!["sys:mkdir".to_owned()],
        };
        let Answer::No { what, advice } = not_listed(&Machine::default(), "vfs_mkdir", &error)
        else {
            panic!()
        };
        assert!(what.contains("sys:mkdir"), "{what}");
        assert!(advice.contains("inject list"), "{advice}");
    }
}
