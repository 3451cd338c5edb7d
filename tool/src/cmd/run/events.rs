//! What happens during a run: injections, and what the kernel says to them.

use std::{collections::VecDeque, time::Duration};

use aya_log::EbpfLogger;
use inject_common::map::Event;

use crate::{
    plan::Plan,
    report::{Output, Traced},
    running::{KernelLog, KernelWarning},
    session::{Ended, Session},
};

/// Injections that are kept to be named beside a warning of the kernel, and how many are.
const KEPT: usize = 64;
const NAMED: usize = 3;

/// Fetches and writes.
pub(super) struct Recorder {
    pub(super) output: Output,
    /// How often the kernel complained.
    pub(super) warnings: u64,
    /// Function and value of every rule.
    names: Vec<(String, String)>,
    trace: bool,
    last: VecDeque<Traced>,
    kernel_log: KernelLog,
    ebpf_log: Option<EbpfLogger<&'static dyn log::Log>>,
}

impl Recorder {
    pub(super) fn new(
        plan: &Plan,
        trace: bool,
        output: Output,
        kernel_log: KernelLog,
        ebpf_log: Option<EbpfLogger<&'static dyn log::Log>>,
    ) -> Self {
        let names = plan
            .functions
            .iter()
            .flat_map(|function| {
                function.rules.iter().map(|rule| (function.name.clone(), rule.value.to_string()))
            })
            .collect();
        Self { output, warnings: 0, names, trace, last: VecDeque::new(), kernel_log, ebpf_log }
    }

    /// Takes what there is.
    pub(super) fn fetch(&mut self, session: &mut Session) {
        for event in session.events() {
            let stack = if self.trace { session.stack(&event) } else { Vec::new() };
            self.record(event, stack);
        }
        if let Some(log) = &mut self.ebpf_log {
            log.flush();
        }
        for warning in self.kernel_log.warnings() {
            self.warn(&warning);
        }
    }

    /// The same, just before the end.
    pub(super) fn flush(&mut self, session: &mut Session) {
        self.fetch(session);
        self.output.live.clear();
    }

    /// What came between the last fetch and the end.
    pub(super) fn end(&mut self, ended: &Ended) {
        for event in &ended.last_events {
            self.record(*event, Vec::new());
        }
        for warning in self.kernel_log.warnings() {
            self.warn(&warning);
        }
        self.kernel_log.write(&format!("pid {}: off", std::process::id()));
    }

    /// Shows how things stand, to a person who waits.
    pub(super) fn show(&mut self, session: &Session, left: Option<Duration>) {
        self.output.live.show(&session.counts(), left);
    }

    /// Says something of its own.
    pub(super) fn say(&mut self, text: &str) {
        self.output.live.clear();
        eprintln!("inject: {text}");
    }

    fn record(&mut self, event: Event, stack: Vec<u64>) {
        let Some((function, value)) = self.names.get(event.rule as usize).cloned() else { return };
        let traced = Traced { event, function, value, stack };
        if self.trace {
            self.output.injection(&traced);
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(traced);
    }

    fn warn(&mut self, warning: &KernelWarning) {
        self.warnings += 1;
        let earlier = |traced: &&Traced| Duration::from_nanos(traced.event.time) <= warning.time;
        let mut before: Vec<Traced> =
            self.last.iter().rev().filter(earlier).take(NAMED).cloned().collect();
        before.reverse();
        self.output.kernel_warning(warning, &before);
    }
}
