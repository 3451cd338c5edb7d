//! Teardown: disarm, quiesce, release keys, detach; and what the session did.

use std::sync::atomic::Ordering::Relaxed;

use inject_common::map::Event;

use super::{
    Session, SessionError,
    commit::SessionFunction,
    events::{self, StackHits},
};
use crate::{
    keys::{FunctionKey, HeldKeys},
    plan::{Planned, PlannedRule},
    sys,
};

/// What became of a function.
#[derive(Clone, Debug)]
pub struct FunctionReport {
    /// The plan for it.
    pub planned: Planned,
    /// As many as the plan has.
    pub rules: Vec<RuleReport>,
    /// Its key; None: its calls are not guarded.
    pub key: Option<KeyReport>,
}

/// What became of the calls of a rule.
#[derive(Clone, Debug)]
pub struct RuleReport {
    /// The plan for it.
    pub planned: PlannedRule,
    /// Its counters.
    pub counts: Counts,
    /// The stacks that were hit, the most frequent first.
    pub stacks: Vec<StackHits>,
}

/// Counters of a rule, over all CPUs; see [`inject_common::map::Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the map's layout")]
pub struct Counts {
    pub seen: u64,
    pub outside_task: u64,
    pub exempt: u64,
    pub in_scope: u64,
    pub guarded: u64,
    pub eligible: u64,
    pub spent: u64,
    pub injected: u64,
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
    /// Calls that the kernel did not show to the programs; None where it does not count them.
    pub missed: Option<u64>,
    /// Forks that could not be followed.
    pub tasks_lost: u64,
    /// Injections that were counted, but not reported one by one.
    pub events_lost: u64,
    /// Calls that were hit and whose stacks were not kept.
    pub stacks_lost: u64,
    /// The last injections.
    pub last_events: Vec<Event>,
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
        let after = match self.held.take().map(HeldKeys::release) {
            Some(Ok(after)) => Some(after),
            // The references went with the device.
            Some(Err(error)) => {
                problems.push(error.into());
                None
            }
            None => Some(Vec::new()),
        };
        let mut after = after.map(Vec::into_iter);
        let counts = self.counts();
        let addresses = self.rule_addresses();
        let stacks = events::hits(&mut self.object, &addresses);
        let mut per_rule = counts.into_iter().zip(stacks);
        let functions = self
            .functions
            .iter()
            .map(|function| FunctionReport {
                planned: function.planned.clone(),
                rules: function
                    .planned
                    .rules
                    .iter()
                    .zip(per_rule.by_ref())
                    .map(|(planned, (counts, stacks))| RuleReport {
                        planned: planned.clone(),
                        counts,
                        stacks,
                    })
                    .collect(),
                key: key_report(function, || after.as_mut()?.next()),
            })
            .collect();
        Ended {
            functions,
            missed: self.attached.missed(),
            tasks_lost: self.control.tasks_lost(),
            events_lost: self.control.events_lost(),
            stacks_lost: self.control.stacks_lost(),
            last_events: self.events.drain(),
            problems,
        }
    }

    /// The counters of every rule, so far.
    pub fn counts(&self) -> Vec<Counts> {
        (0..self.progress.len()).map(|rule| self.count(rule)).collect()
    }

    /// The kernel stack of an event, the function's own address first. An element call: kprobe programs may miss calls.
    pub fn stack(&mut self, event: &Event) -> Vec<u64> {
        let function = self.rule_addresses().get(event.rule as usize).copied().unwrap_or(0);
        events::from_function(events::stack(&mut self.object, event.stack), function)
    }

    /// The address of each rule's function.
    fn rule_addresses(&self) -> Vec<u64> {
        self.functions
            .iter()
            .flat_map(|function| function.planned.rules.iter().map(|_| function.planned.address))
            .collect()
    }

    fn count(&self, rule: usize) -> Counts {
        let mut counts = Counts::default();
        for cpu in 0..self.cpus {
            let counters = &self.counters[rule * self.cpus + cpu];
            counts.seen += counters.seen.load(Relaxed);
            counts.outside_task += counters.outside_task.load(Relaxed);
            counts.exempt += counters.exempt.load(Relaxed);
            counts.in_scope += counters.in_scope.load(Relaxed);
            counts.guarded += counters.guarded.load(Relaxed);
            counts.eligible += counters.eligible.load(Relaxed);
            counts.spent += counters.spent.load(Relaxed);
            counts.injected += counters.injected.load(Relaxed);
        }
        counts
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
