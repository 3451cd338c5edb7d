//! The mechanism of a function, or every reason against.

use super::{Facts, Mechanism, PlanError, resolve::Target};
use crate::running::Answer;

pub(super) struct Choice {
    pub(super) mechanism: Mechanism,
    pub(super) because: String,
    pub(super) btf_id: Option<u32>,
}

/// Takes kprobe-multi where it works, else fmod-ret; or the one that is asked for.
pub(super) fn choose(
    facts: &Facts<'_>,
    forced: Option<Mechanism>,
    target: &Target,
    returns_zero: bool,
) -> Result<Choice, PlanError> {
    let wanted = |mechanism| forced.is_none_or(|forced| forced == mechanism);
    let because = |reason: &str| {
        if forced.is_some() { "asked for with --method".to_owned() } else { reason.to_owned() }
    };
    let mut reasons = Vec::new();
    if wanted(Mechanism::KprobeMulti) {
        match can_kprobe_multi(facts, target) {
            Ok(()) => {
                return Ok(Choice {
                    mechanism: Mechanism::KprobeMulti,
                    because: because("one link for all functions"),
                    btf_id: None,
                });
            }
            Err(reason) => reasons.push(format!("kprobe-multi: {reason}")),
        }
    }
    if wanted(Mechanism::FmodRet) {
        match can_fmod_ret(facts, target, returns_zero) {
            Ok(btf_id) => {
                return Ok(Choice {
                    mechanism: Mechanism::FmodRet,
                    because: because(&reasons.join("; ")),
                    btf_id: Some(btf_id),
                });
            }
            Err(reason) => reasons.push(format!("fmod-ret: {reason}")),
        }
    }
    Err(PlanError::NoMechanism { name: target.name.clone(), reasons })
}

/// Each mechanism that could take the function, best first, or why it cannot.
pub fn mechanisms(
    facts: &Facts<'_>,
    target: &Target,
    returns_zero: bool,
) -> [(Mechanism, Result<(), String>); 2] {
    [
        (Mechanism::KprobeMulti, can_kprobe_multi(facts, target)),
        (Mechanism::FmodRet, can_fmod_ret(facts, target, returns_zero).map(|_| ())),
    ]
}

fn can_kprobe_multi(facts: &Facts<'_>, target: &Target) -> Result<(), String> {
    if target.fmod_ret_only {
        return Err(
            "it is not in the error injection list, so only fmod_ret may go there".to_owned()
        );
    }
    if let Answer::No(reason) = &facts.features.kprobe_multi {
        return Err(reason.clone());
    }
    can_trace(facts, target)
}

/// Both mechanisms start at the place that ftrace keeps at a function's entry.
fn can_trace(facts: &Facts<'_>, target: &Target) -> Result<(), String> {
    let traceable = |name| facts.traceable.contains(name);
    // ftrace prints one name an address, which need not be the one that the user wrote.
    if traceable(&target.name) == Some(false) && traceable(&target.listed) == Some(false) {
        return Err("ftrace cannot hook this function".to_owned());
    }
    Ok(())
}

fn can_fmod_ret(facts: &Facts<'_>, target: &Target, returns_zero: bool) -> Result<u32, String> {
    if let Answer::No(reason) = &facts.features.fmod_ret {
        return Err(reason.clone());
    }
    can_trace(facts, target)?;
    if returns_zero {
        return Err("it cannot return 0, which means 'run the function'".to_owned());
    }
    if let Some(module) = &target.module {
        return Err(format!("functions of modules ({module}) are not supported yet"));
    }
    let mut functions = (facts.btf_functions)(&target.name);
    if functions.is_empty() {
        functions = (facts.btf_functions)(&target.listed);
    }
    match functions[..] {
        [function] => Ok(function.id),
        [] => Err("the function is not in this kernel's BTF".to_owned()),
        _ => Err("the function's name is not unique in this kernel's BTF".to_owned()),
    }
}
