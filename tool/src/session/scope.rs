//! Whom a session is for.

use std::path::PathBuf;

use inject_common::map::flag;
use nix::unistd::Pid;

use super::{SessionError, kernel};
use crate::mechanism::Object;

/// Whom the rules are for. Each limit narrows the others; without any it is the whole system.
#[derive(Clone, Debug, Default)]
pub struct ScopeOptions {
    /// This process from its next exec on, and its descendants.
    pub command: Option<Pid>,
    /// These processes …
    pub processes: Vec<u32>,
    /// … and their descendants.
    pub descendants: bool,
    /// Tasks of that name, filled up with zeros.
    pub comm: Option<[u8; 16]>,
    /// Tasks of that user.
    pub uid: Option<u32>,
    /// Tasks in that control group, or below it.
    pub cgroup: Option<PathBuf>,
    /// Kernel threads too, whatever the limits.
    pub kernel_threads: bool,
    /// Interrupts too.
    pub interrupts: bool,
    /// Whether each task's calls are numbered for themselves.
    pub count_per_task: bool,
}

impl ScopeOptions {
    /// Whether anything limits it.
    pub fn is_limited(&self) -> bool {
        self.flags() & flag::ANY_SCOPE != 0
    }

    /// Whether tasks have to be followed over their forks.
    pub(super) fn follows_tasks(&self) -> bool {
        self.command.is_some() || (self.descendants && !self.processes.is_empty())
    }

    /// As the programs read it.
    pub(super) fn flags(&self) -> u32 {
        let follows = self.follows_tasks();
        [
            (follows, flag::TASKS),
            (!follows && !self.processes.is_empty(), flag::PROCESSES),
            (self.comm.is_some(), flag::COMM),
            (self.uid.is_some(), flag::UID),
            (self.cgroup.is_some(), flag::CGROUP),
            (self.kernel_threads, flag::KTHREADS),
            (self.interrupts, flag::IRQ),
            (self.count_per_task, flag::COUNT_PER_TASK),
        ]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .fold(0, |flags, (_, flag)| flags | flag)
    }

    /// Fills the maps, and attaches what follows tasks.
    pub(super) fn apply(&self, object: &mut Object) -> Result<(), SessionError> {
        let exempt = kernel::exempt_processes()?;
        if let Some(process) = self.processes.iter().find(|process| exempt.contains(process)) {
            return Err(SessionError::ExemptProcess { process: *process });
        }
        for process in exempt {
            object.exempt(process)?;
        }
        if self.follows_tasks() {
            object.follow_forks()?;
        }
        if let Some(command) = self.command {
            object.follow_from_exec(command.as_raw() as u32)?;
        }
        for process in &self.processes {
            self.add_process(object, *process)?;
        }
        if let Some(path) = &self.cgroup {
            object.name_cgroup(path)?;
        }
        Ok(())
    }

    fn add_process(&self, object: &mut Object, process: u32) -> Result<(), SessionError> {
        let threads = kernel::threads(process)?;
        if !self.follows_tasks() {
            return Ok(object.name_process(process)?);
        }
        for thread in threads {
            object.follow_now(thread)?;
        }
        Ok(())
    }
}
