//! Teardown: disarm, quiesce, release keys, detach; and what the session did.

use std::sync::atomic::Ordering::Relaxed;

use super::{Session, SessionError, commit::SessionFunction};
use crate::{keys::FunctionKey, plan::Planned, sys};

/// What became of the calls of one function.
#[derive(Clone, Debug)]
pub struct FunctionReport {
    /// The plan for it.
    pub planned: Planned,
    /// Calls while the session was armed.
    pub seen: u64,
    /// Of these, in interrupt context.
    pub outside_task: u64,
    /// Of these, in processes that are left alone.
    pub exempt: u64,
    /// Of these, in scope.
    pub in_scope: u64,
    /// Of those in scope, kept from failing by the function's guard.
    pub guarded: u64,
    /// Of those in scope, made to fail.
    pub injected: u64,
    /// Its key; None: its calls are not guarded.
    pub key: Option<KeyReport>,
}

/// What became of a key. Counts are references of every holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReport {
    /// Its symbol, if an image tells.
    pub name: Option<String>,
    /// Before the session.
    pub before: u32,
    /// After it; None: it could not be read.
    pub after: Option<u32>,
}

/// A session that has ended.
#[derive(Debug)]
pub struct Ended {
    /// In the order of the plan.
    pub functions: Vec<FunctionReport>,
    /// Forks that could not be followed.
    pub tasks_lost: u64,
    /// What did not go as it should. Everything was undone as far as the kernel let us.
    pub problems: Vec<SessionError>,
}

impl Session {
    /// Ends the session. When this returns, no further call fails, and everything is detached.
    pub fn end(mut self) -> Ended {
        let mut problems = Vec::new();
        self.control.disarm();
        if let Err(error) = sys::wait_for_running_programs() {
            problems.push(SessionError::Quiesce(error));
        }
        let after = match self.held.take().map(crate::keys::HeldKeys::release) {
            Some(Ok(after)) => Some(after),
            // The references went with the device.
            Some(Err(error)) => {
                problems.push(error.into());
                None
            }
            None => Some(Vec::new()),
        };
        let mut after = after.map(Vec::into_iter);
        let functions = (0..self.functions.len())
            .map(|index| {
                let key = key_report(&self.functions[index], || after.as_mut()?.next());
                self.report(index, key)
            })
            .collect();
        Ended { functions, tasks_lost: self.control.tasks_lost(), problems }
    }

    fn report(&self, index: usize, key: Option<KeyReport>) -> FunctionReport {
        let mut report = FunctionReport {
            planned: self.functions[index].planned.clone(),
            seen: 0,
            outside_task: 0,
            exempt: 0,
            in_scope: 0,
            guarded: 0,
            injected: 0,
            key,
        };
        for cpu in 0..self.cpus {
            let counters = &self.counters[index * self.cpus + cpu];
            report.seen += counters.seen.load(Relaxed);
            report.outside_task += counters.outside_task.load(Relaxed);
            report.exempt += counters.exempt.load(Relaxed);
            report.in_scope += counters.in_scope.load(Relaxed);
            report.guarded += counters.guarded.load(Relaxed);
            report.injected += counters.injected.load(Relaxed);
        }
        report
    }
}

fn key_report(
    function: &SessionFunction,
    after: impl FnOnce() -> Option<u32>,
) -> Option<KeyReport> {
    match &function.key {
        FunctionKey::Guarded { name, count, .. } => {
            Some(KeyReport { name: name.clone(), before: count.unwrap_or(0), after: after() })
        }
        FunctionKey::None | FunctionKey::Unknown => None,
    }
}
