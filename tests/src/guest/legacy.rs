//! The kernel's own fault injection, as people use it: by debugfs and `/proc`.

use std::{
    fs::{OpenOptions, read_to_string},
    io::{self, Write as _},
};

use anyhow::{Context as _, ensure};

const DEBUGFS: &str = "/sys/kernel/debug";

/// One write, without creating or truncating anything.
pub fn put(path: &str, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// The folder of a fault attribute, `failslab` for instance. Made inert when dropped.
pub struct Attribute(pub &'static str);

impl Attribute {
    /// An attribute that fails nothing, whatever its probability.
    pub fn idle(name: &'static str) -> anyhow::Result<Self> {
        let attribute = Self(name);
        attribute.set("probability", "0")?;
        attribute.set("times", "0")?;
        attribute.set("verbose", "0")?;
        Ok(attribute)
    }

    /// Writes one of its files.
    pub fn set(&self, file: &str, value: &str) -> anyhow::Result<()> {
        let path = format!("{DEBUGFS}/{}/{file}", self.0);
        put(&path, value).with_context(|| format!("{value} to {path}"))
    }

    /// Reads one.
    pub fn get(&self, file: &str) -> anyhow::Result<String> {
        let path = format!("{DEBUGFS}/{}/{file}", self.0);
        Ok(read_to_string(&path).with_context(|| path)?.trim().to_owned())
    }
}

impl Drop for Attribute {
    fn drop(&mut self) {
        // A key that stays up fails the check of the machine's state.
        let _ = self.set("probability", "0");
        let _ = self.set("times", "1");
    }
}

const FAIL_FUNCTION: &str = "/sys/kernel/debug/fail_function/inject";

/// Puts `fail_function` on a function; with its probability of 0 it fails nothing.
pub fn fail_function(function: &str) -> io::Result<()> {
    put(FAIL_FUNCTION, function)
}

/// Takes it off again.
pub fn spare_function(function: &str) -> io::Result<()> {
    put(FAIL_FUNCTION, &format!("!{function}"))
}

/// Takes it off all functions.
pub fn spare_all_functions() -> anyhow::Result<()> {
    put(FAIL_FUNCTION, " ")?;
    let left = read_to_string(FAIL_FUNCTION)?;
    ensure!(left.trim().is_empty(), "fail_function is still on {left}");
    Ok(())
}

/// Makes a process's `nth` call from now on fail; 0 for none. It has to be single-threaded.
pub fn fail_nth(process: u32, nth: u32) -> io::Result<()> {
    put(&format!("/proc/{process}/fail-nth"), &nth.to_string())
}
