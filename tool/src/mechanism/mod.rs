//! Getting programs into the kernel and onto functions: one file a mechanism.

mod error;
mod fmod_ret;
mod kprobe_multi;
mod object;
mod tasks;
mod ticks;

use std::os::fd::OwnedFd;

pub use error::MechanismError;
pub use object::{Object, ProgramConstants, is_stub};

use crate::plan::{Mechanism, Planned};

/// Programs on their functions. Dropping it detaches them.
#[must_use = "dropping this detaches"]
#[derive(Debug)]
pub struct Attached {
    links: Vec<OwnedFd>,
    // Links keep their programs, so these are here to be named in errors and dropped with the rest.
    programs: Vec<OwnedFd>,
    has_kprobe_multi: bool,
}

impl Attached {
    /// Attaches every planned function; the cookie of a function is its index.
    ///
    /// If one fails, those before it are detached again.
    pub fn attach(object: &Object, planned: &[Planned]) -> Result<Self, MechanismError> {
        let mut attached =
            Self { links: Vec::new(), programs: Vec::new(), has_kprobe_multi: false };
        let by = |mechanism| {
            planned
                .iter()
                .enumerate()
                .filter(move |(_, function)| function.mechanism == mechanism)
                .map(|(index, function)| (index as u64, function))
                .collect::<Vec<_>>()
        };
        let multi = by(Mechanism::KprobeMulti);
        if !multi.is_empty() {
            attached.has_kprobe_multi = true;
            attached.push(kprobe_multi::attach(object, &multi)?);
        }
        for (index, function) in by(Mechanism::FmodRet) {
            attached.push(fmod_ret::attach(object, index, function)?);
        }
        Ok(attached)
    }

    fn push(&mut self, (program, link): (OwnedFd, OwnedFd)) {
        self.programs.push(program);
        self.links.push(link);
    }

    /// Fails unless the kernel knows every link.
    pub fn verify(&self) -> Result<(), MechanismError> {
        for link in &self.links {
            crate::sys::link_info(link).map_err(MechanismError::LinkLost)?;
        }
        Ok(())
    }

    /// Calls of fmod_ret programs that the kernel skipped because the same program was running on the CPU already.
    ///
    /// None with kprobe-multi, whose misses Linux 6.1 does not count.
    pub fn missed(&self) -> Option<u64> {
        if self.has_kprobe_multi {
            return None;
        }
        self.programs.iter().map(|program| crate::sys::program_misses(program).ok()).sum()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.links.len()
    }
}
