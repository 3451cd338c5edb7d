//! Somebody else's probe: a kprobe by tracefs, which counts the calls of a function.

use std::fs::{OpenOptions, read_to_string, write};
use std::io::Write as _;

use anyhow::Context as _;

const EVENTS: &str = "/sys/kernel/tracing/kprobe_events";
const ENABLE: &str = "/sys/kernel/tracing/events/kprobes/counted/enable";
const PROFILE: &str = "/sys/kernel/tracing/kprobe_profile";

/// Removed when dropped.
pub struct Probe;

impl Probe {
    /// Puts it on a function.
    pub fn on(function: &str) -> anyhow::Result<Self> {
        append(&format!("p:counted {function}")).context("the kprobe")?;
        let probe = Self;
        write(ENABLE, "1")?;
        Ok(probe)
    }

    /// Puts it a bit further in, behind the place that ftrace patches.
    ///
    /// Where fail_function joins a plain kprobe on that place, 6.1 does not find it again when it takes it off:
    /// kernel/kprobes.c: register_aggr_kprobe() gives an armed probe a post handler, and disarm_kprobe_ftrace() goes by
    /// that.
    pub fn inside(function: &str) -> anyhow::Result<Self> {
        Self::on(&format!("{function}+5"))
    }

    /// How often the function was called since.
    pub fn hits(&self) -> anyhow::Result<u64> {
        let profile = read_to_string(PROFILE)?;
        let line = profile.lines().find(|line| line.trim_start().starts_with("counted"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
            .with_context(|| format!("kprobe_profile says '{profile}'"))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // What is left behind fails the test's check of the machine's state.
        let _ = write(ENABLE, "0");
        let _ = append("-:counted");
    }
}

fn append(line: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).open(EVENTS)?.write_all(line.as_bytes())
}
