//! Which functions ftrace can hook.

use std::{collections::HashSet, io::ErrorKind};

use super::RunningError;

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The functions in `available_filter_functions`.
#[derive(Debug)]
pub struct Traceable {
    /// None: tracefs is not mounted, so nobody can tell.
    names: Option<HashSet<String>>,
}

impl Traceable {
    /// Reads the list, where tracefs is mounted.
    pub fn read() -> Result<Self, RunningError> {
        for place in PLACES {
            let path = format!("{place}/available_filter_functions");
            match std::fs::read_to_string(&path) {
                Ok(text) => return Ok(Self::parse(&text)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(RunningError::read(&path)(error)),
            }
        }
        Ok(Self { names: None })
    }

    /// Takes what the kernel printed: a name a line, a module in brackets after it.
    pub fn parse(text: &str) -> Self {
        let first = |line: &str| line.split_ascii_whitespace().next().map(str::to_owned);
        Self { names: Some(text.lines().filter_map(first).collect()) }
    }

    /// Whether the function can be hooked; None where that cannot be told.
    pub fn contains(&self, name: &str) -> Option<bool> {
        self.names.as_ref().map(|names| names.contains(name))
    }
}
