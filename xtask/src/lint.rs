//! `cargo xtask lint`: formatting and clippy, as CI wants them.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cargo::cargo;
use crate::paths::Paths;

pub fn run(paths: &Paths) -> Result<()> {
    fmt(paths)?;
    clippy(paths)
}

fn fmt(paths: &Paths) -> Result<()> {
    check(cargo(paths).args(["fmt", "--all", "--check"]), "cargo fmt")
}

fn clippy(paths: &Paths) -> Result<()> {
    let mut clippy = cargo(paths);
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    check(&mut clippy, "clippy")
}

/// Runs it with its output on the terminal: what it prints is the result.
fn check(command: &mut Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {what}"))?;
    if !status.success() {
        bail!("{what} found something");
    }
    Ok(())
}

/// The same script that the project's CI runs.
pub fn ci(paths: &Paths) -> Result<()> {
    check(Command::new("bash").arg(paths.root.join(".ci/run")), ".ci/run")
}
