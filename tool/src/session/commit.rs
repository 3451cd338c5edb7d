//! Commit: load, attach, hold, verify, arm. Whatever fails, dropping what there is undoes it, last step first.

use aya::maps::Array;
use inject_common::map::{Counters, Rule};

use super::{Beat, SessionError, control::ControlWord, kernel};
use crate::{
    keys::{FunctionKey, HeldKeys, KeyKnowledge, KeyedFunction},
    mechanism::{self, Attached, MechanismError, Object},
    plan::Planned,
    running::Running,
    sys::SharedArray,
};

/// Whom the rules are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every task but the exempt ones.
    System,
    /// This process from its next exec on, and its descendants.
    Command(nix::unistd::Pid),
}

/// How a session goes about it.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Whom the rules are for.
    pub scope: Scope,
    /// Whether functions' own guards are kept.
    pub guards: bool,
}

/// A function of a session, with what was known before it began.
#[derive(Clone, Debug)]
pub(super) struct SessionFunction {
    pub(super) planned: Planned,
    pub(super) key: FunctionKey,
}

/// A session in effect. Dropping it takes everything back without waiting; `end` does it in order and reports.
#[must_use = "dropping this ends the session"]
pub struct Session {
    // Dropped from the top: disarmed first, then keys, links, maps. The same order by which the kernel closes the
    // descriptors of a process that was killed: the last opened first.
    pub(super) control: ControlWord,
    pub(super) held: Option<HeldKeys>,
    pub(super) attached: Attached,
    pub(super) counters: SharedArray<Counters>,
    pub(super) object: Object,
    pub(super) functions: Vec<SessionFunction>,
    pub(super) cpus: usize,
}

impl Session {
    /// Puts a plan into effect, all of it or nothing.
    pub fn commit(
        running: &Running,
        keys: &KeyKnowledge,
        planned: Vec<Planned>,
        options: SessionOptions,
    ) -> Result<Self, SessionError> {
        let functions = planned
            .into_iter()
            .map(|planned| {
                let key = keys.of(&planned.name, planned.address)?;
                keys.require(&planned.name, &key)?;
                Ok(SessionFunction { planned, key })
            })
            .collect::<Result<Vec<_>, SessionError>>()?;

        let constants = kernel::constants(running, options.scope != Scope::System)?;
        let mut object = Object::load(&constants, functions.len())?;
        write_rules(&mut object, running, &functions, options)?;
        match options.scope {
            Scope::System => object.exempt(&kernel::exempt_processes()?)?,
            Scope::Command(process) => object.follow_task(process.as_raw() as u32)?,
        }
        let control = ControlWord::map(&mut object)?;
        let cpus = constants.cpus as usize;
        let counters = SharedArray::map(object.array("COUNTERS")?, functions.len() * cpus)
            .map_err(|source| MechanismError::Map { name: "COUNTERS", source })?;

        let plans: Vec<_> = functions.iter().map(|function| function.planned.clone()).collect();
        let attached = Attached::attach(&object, &plans)?;
        let held = hold(keys, &functions)?;
        let session = Self { control, held, attached, counters, object, functions, cpus };
        session.verify()?;
        session.control.arm(&session.object)?;
        Ok(session)
    }

    fn verify(&self) -> Result<(), SessionError> {
        self.attached.verify()?;
        if let Some(held) = &self.held {
            held.verify()?;
        }
        Ok(())
    }

    /// Keeps the session acting; to be called every [`super::HEARTBEAT`].
    pub fn beat(&self) -> Result<Beat, SessionError> {
        Ok(self.control.beat(&self.object)?)
    }

    /// aya's side of the object, for its log.
    pub fn ebpf(&mut self) -> &mut aya::Ebpf {
        self.object.ebpf()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.control.disarm();
    }
}

fn write_rules(
    object: &mut Object,
    running: &Running,
    functions: &[SessionFunction],
    options: SessionOptions,
) -> Result<(), MechanismError> {
    const NAME: &str = "RULES";
    let failed = |source| MechanismError::MapCall { name: NAME, source };
    let map = object
        .ebpf()
        .map_mut(NAME)
        .ok_or_else(|| MechanismError::Object(format!("it has no map {NAME}")))?;
    let mut rules: Array<_, [u64; RULE_WORDS]> = map.try_into().map_err(failed)?;
    for (index, SessionFunction { planned, .. }) in functions.iter().enumerate() {
        let guard = kernel::guard(running, &planned.name, options.guards);
        let rule = mechanism::rule(planned, options.scope != Scope::System, guard);
        rules.set(index as u32, words(&rule), 0).map_err(failed)?;
    }
    Ok(())
}

const RULE_WORDS: usize = size_of::<Rule>() / 8;

/// A rule as it lies in memory. By hand, so that no unsafe cast is needed; exhaustive, so that no field is forgotten.
fn words(rule: &Rule) -> [u64; RULE_WORDS] {
    let Rule { value, threshold, guard, scoped, reserved } = *rule;
    let inject_common::map::Guard {
        pointer_argument,
        flags_argument,
        refused_pointer_at,
        refused_flags,
    } = guard;
    let pair = |first: u32, second: u32| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&first.to_ne_bytes());
        bytes[4..].copy_from_slice(&second.to_ne_bytes());
        u64::from_ne_bytes(bytes)
    };
    [
        value as u64,
        threshold,
        pair(pointer_argument, flags_argument),
        refused_pointer_at,
        refused_flags,
        pair(scoped, reserved),
    ]
}

/// The device is opened here, after the links, because a killed process's last descriptors are closed first.
fn hold(
    keys: &KeyKnowledge,
    functions: &[SessionFunction],
) -> Result<Option<HeldKeys>, SessionError> {
    let guarded: Vec<KeyedFunction> = functions
        .iter()
        .filter_map(|function| match function.key {
            FunctionKey::Guarded { address, .. } => Some(KeyedFunction {
                name: function.planned.name.clone(),
                address: function.planned.address,
                expected_key: address,
            }),
            FunctionKey::None | FunctionKey::Unknown => None,
        })
        .collect();
    if guarded.is_empty() {
        return Ok(None);
    }
    Ok(Some(keys.open_device()?.hold(guarded)?))
}
