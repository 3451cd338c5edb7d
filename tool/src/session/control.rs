//! The control word: one store arms, beats and disarms.

use std::{
    sync::atomic::Ordering::Relaxed,
    thread::sleep,
    time::{Duration, Instant},
};

use inject_common::map::Control;

use crate::{
    mechanism::{MechanismError, Object},
    sys::SharedArray,
};

/// How often the control word is renewed.
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// For how long a session acts after its last heartbeat: if `inject` hangs or is stopped, faults end by themselves.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// How long ticks have to be watched before their length is known well enough: some 5 at the slowest, 100 a second.
const TICK_WATCH: Duration = Duration::from_millis(50);

/// The mapped control word, and what is known of the clock that it is compared with.
#[derive(Debug)]
pub(super) struct ControlWord {
    memory: SharedArray<Control>,
    /// A tick count, and when it was read: the other end of a measurement of the tick's length.
    first: (u64, Instant),
}

/// What a heartbeat found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The session acted all the time.
    InTime,
    /// The session had disarmed itself for about that long, because the last heartbeat was too long ago. It is armed
    /// again.
    After(Duration),
}

impl ControlWord {
    pub(super) fn map(object: &mut Object) -> Result<Self, MechanismError> {
        let memory = SharedArray::map(object.array("CONTROL")?, 1)
            .map_err(|source| MechanismError::Map { name: "CONTROL", source })?;
        object.load_clock()?;
        let ticks = read_ticks(&memory, object)?;
        Ok(Self { memory, first: (ticks, Instant::now()) })
    }

    /// From here on every function of the session fails as its rule says.
    pub(super) fn arm(&self, object: &Object) -> Result<(), MechanismError> {
        sleep(TICK_WATCH.saturating_sub(self.first.1.elapsed()));
        self.renew(read_ticks(&self.memory, object)?);
        Ok(())
    }

    /// Renews it.
    pub(super) fn beat(&self, object: &Object) -> Result<Beat, MechanismError> {
        let now = read_ticks(&self.memory, object)?;
        let until = self.memory[0].armed_until.load(Relaxed);
        self.renew(now);
        Ok(match now.checked_sub(until) {
            None => Beat::InTime,
            Some(late) => {
                Beat::After(Duration::from_secs_f64(late as f64 / self.ticks_a_second(now)))
            }
        })
    }

    /// From here on no new call fails. Programs that run at this moment may still; see quiesce.
    pub(super) fn disarm(&self) {
        self.memory[0].armed_until.store(0, Relaxed);
    }

    pub(super) fn tasks_lost(&self) -> u64 {
        self.memory[0].tasks_lost.load(Relaxed)
    }

    pub(super) fn events_lost(&self) -> u64 {
        self.memory[0].events_lost.load(Relaxed)
    }

    pub(super) fn stacks_lost(&self) -> u64 {
        self.memory[0].stacks_lost.load(Relaxed)
    }

    fn renew(&self, now: u64) {
        let ticks = TIMEOUT.as_secs_f64() * self.ticks_a_second(now);
        self.memory[0].armed_until.store(now + ticks as u64, Relaxed);
    }

    fn ticks_a_second(&self, now: u64) -> f64 {
        tick_rate(now.saturating_sub(self.first.0), self.first.1.elapsed())
    }
}

fn read_ticks(memory: &SharedArray<Control>, object: &Object) -> Result<u64, MechanismError> {
    object.read_clock()?;
    Ok(memory[0].ticks.load(Relaxed))
}

/// Ticks a second, from how many there were in a time. CONFIG_HZ is 100 to 1024.
fn tick_rate(ticks: u64, time: Duration) -> f64 {
    (ticks as f64 / time.as_secs_f64()).clamp(100.0, 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_rate_is_measured_within_what_kernels_have() {
        assert_eq!(tick_rate(250, Duration::from_secs(1)), 250.0);
        assert_eq!(tick_rate(0, TICK_WATCH), 100.0);
        assert_eq!(tick_rate(1_000_000, TICK_WATCH), 1024.0);
    }
}
