//! The kernel's tick count, read by running a program.

use aya::programs::{RawTracePoint, RawTracePointRunOptions, TestRun as _};

use super::{MechanismError, Object};

const PROGRAM: &str = "read_ticks";

impl Object {
    /// Loads the program that reads ticks.
    pub fn load_clock(&mut self) -> Result<(), MechanismError> {
        let program: &mut RawTracePoint =
            self.ebpf().program_mut(PROGRAM).ok_or_else(missing)?.try_into()?;
        Ok(program.load()?)
    }

    /// Runs it: the tick count is in the control word's map afterwards. Minimum kernel: 5.10.
    pub fn read_clock(&self) -> Result<(), MechanismError> {
        let program: &RawTracePoint =
            self.ebpf_ref().program(PROGRAM).ok_or_else(missing)?.try_into()?;
        program.test_run(RawTracePointRunOptions::default()).map_err(MechanismError::Clock)?;
        Ok(())
    }
}

fn missing() -> MechanismError {
    MechanismError::Object(format!("it has no program {PROGRAM}"))
}
