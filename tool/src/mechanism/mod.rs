//! Getting programs into the kernel and onto functions: one file a mechanism.

mod error;
mod fmod_ret;
mod kprobe_multi;
mod object;
mod tasks;
mod ticks;

use std::os::fd::OwnedFd;

use inject_common::map::Rule;

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
}

impl Attached {
    /// Attaches every planned function; the rule of a function is the one of the same index.
    ///
    /// If one fails, those before it are detached again.
    pub fn attach(object: &Object, planned: &[Planned]) -> Result<Self, MechanismError> {
        let mut attached = Self { links: Vec::new(), programs: Vec::new() };
        let by = |mechanism| {
            planned
                .iter()
                .enumerate()
                .filter(move |(_, function)| function.mechanism == mechanism)
                .map(|(rule, function)| (rule as u64, function))
                .collect::<Vec<_>>()
        };
        let multi = by(Mechanism::KprobeMulti);
        if !multi.is_empty() {
            attached.push(kprobe_multi::attach(object, &multi)?);
        }
        for (rule, function) in by(Mechanism::FmodRet) {
            attached.push(fmod_ret::attach(object, rule, function)?);
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

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.links.len()
    }
}

/// The rule that the programs read for a planned function.
pub fn rule(planned: &Planned, scoped: bool, guard: inject_common::map::Guard) -> Rule {
    Rule {
        value: planned.value.number(),
        threshold: planned.rate.threshold(),
        guard,
        scoped: scoped.into(),
        reserved: 0,
    }
}
