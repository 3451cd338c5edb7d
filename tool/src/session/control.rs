//! The control word: one store arms, beats and disarms.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use inject_common::map::Control;

use crate::{
    mechanism::{MechanismError, Object},
    sys::{self, SharedArray},
};

/// How often the control word is renewed.
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// For how long a session acts after its last heartbeat: if `inject` hangs or is stopped, faults end by themselves.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// The mapped control word.
#[derive(Debug)]
pub(super) struct ControlWord {
    memory: SharedArray<Control>,
}

/// What a heartbeat found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The session acted all the time.
    InTime,
    /// The session had disarmed itself for that long, because the last heartbeat was too long ago. It is armed again.
    After(Duration),
}

impl ControlWord {
    pub(super) fn map(object: &Object) -> Result<Self, MechanismError> {
        let map = object.array("CONTROL")?;
        let memory = SharedArray::map(map, 1)
            .map_err(|source| MechanismError::Map { name: "CONTROL", source })?;
        Ok(Self { memory })
    }

    /// From here on every function of the session fails as its rule says.
    pub(super) fn arm(&self) {
        self.set(sys::coarse_now() + TIMEOUT.as_nanos() as u64);
    }

    /// Renews it.
    pub(super) fn beat(&self) -> Beat {
        let now = sys::coarse_now();
        let until = self.memory[0].armed_until.load(Relaxed);
        self.arm();
        if now < until { Beat::InTime } else { Beat::After(Duration::from_nanos(now - until)) }
    }

    /// From here on no new call fails. Programs that run at this moment may still; see quiesce.
    pub(super) fn disarm(&self) {
        self.set(0);
    }

    pub(super) fn tasks_lost(&self) -> u64 {
        self.memory[0].tasks_lost.load(Relaxed)
    }

    fn set(&self, until: u64) {
        self.memory[0].armed_until.store(until, Relaxed);
    }
}
