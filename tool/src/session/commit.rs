//! Commit: load, attach, hold, verify, arm. Whatever fails, dropping what there is undoes it, last step first.

use inject_common::map::{Counters, Progress};

use super::{
    Beat, ScopeOptions, SessionError, control::ControlWord, events::Events, kernel, rules,
};
use crate::{
    keys::{FunctionKey, HeldKeys, KeyKnowledge, KeyedFunction},
    mechanism::{Attached, MechanismError, Object},
    plan::Planned,
    running::Running,
    sys::SharedArray,
};

/// How a session goes about it.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Whom the rules are for.
    pub scope: ScopeOptions,
    /// Whether functions' own guards are kept.
    pub guards: bool,
    /// Makes the choices repeatable.
    pub seed: u64,
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
    pub(super) progress: SharedArray<Progress>,
    pub(super) events: Events,
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
        options: &SessionOptions,
    ) -> Result<Self, SessionError> {
        let functions = planned
            .into_iter()
            .map(|planned| {
                let key = keys.of(&planned.name, planned.address)?;
                keys.require(&planned.name, &key)?;
                Ok(SessionFunction { planned, key })
            })
            .collect::<Result<Vec<_>, SessionError>>()?;
        let rule_count: usize = functions.iter().map(|one| one.planned.rules.len()).sum();

        let constants = kernel::constants(running, options.scope.follows_tasks())?;
        let mut object = Object::load(&constants, rule_count)?;
        rules::write(&mut object, running, &functions, options)?;
        options.scope.apply(&mut object)?;
        let control = ControlWord::map(&mut object)?;
        let cpus = constants.cpus as usize;
        let shared = |name, source| MechanismError::Map { name, source };
        let counters = SharedArray::map(object.array("COUNTERS")?, rule_count * cpus)
            .map_err(|source| shared("COUNTERS", source))?;
        let progress = SharedArray::map(object.array("PROGRESS")?, rule_count)
            .map_err(|source| shared("PROGRESS", source))?;

        let plans: Vec<_> = functions.iter().map(|function| function.planned.clone()).collect();
        let attached = Attached::attach(&object, &plans)?;
        // From here on a map may be taken out of the object: the programs are bound.
        let events = Events::take(&mut object)?;
        let held = hold(keys, &functions)?;
        let session =
            Self { control, held, attached, counters, progress, events, object, functions, cpus };
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

    /// Injections since the last call.
    pub fn events(&mut self) -> Vec<inject_common::map::Event> {
        self.events.drain()
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
