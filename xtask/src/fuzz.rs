//! `cargo xtask fuzz`: hostile images, for a while.
//!
//! Wants a nightly compiler and cargo-fuzz, which nothing else does, so it installs neither.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::paths::{Paths, create_dir};

/// One a file in tool/fuzz/fuzz_targets, with a folder of its name in tool/fuzz/corpus.
const TARGETS: [&str; 3] = ["whitelist", "jump_table", "module"];

/// Memory that a target may use, in MiB: a small file must not ask for much.
const MEMORY: u32 = 4096;

/// Runs each target for that many seconds; what it finds stays in tool/fuzz/artifacts.
pub fn run(paths: &Paths, seconds: u32) -> Result<()> {
    if !cargo_fuzz()
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?
        .success()
    {
        bail!(
            "run 'rustup toolchain install nightly' and 'cargo install cargo-fuzz', and try again"
        );
    }
    for target in TARGETS {
        // What is found on the way goes here, so that the corpus in the clone stays small.
        let found = paths.target.join("fuzz-corpus").join(target);
        create_dir(&found)?;
        let mut command = cargo_fuzz();
        // Safe code needs no address sanitizer, which makes it slow.
        command.args(["run", "--sanitizer", "none", "--target-dir"]).arg(paths.target.join("fuzz"));
        command.arg(target).arg(found).arg(format!("fuzz/corpus/{target}"));
        command.args(["--", "-timeout=10", "-print_final_stats=1"]);
        command.arg(format!("-max_total_time={seconds}")).arg(format!("-rss_limit_mb={MEMORY}"));
        command.current_dir(paths.root.join("tool"));
        let status = command.status().context("cannot start rustup")?;
        if !status.success() {
            bail!("{target} found something: see above, and tool/fuzz/artifacts/{target}");
        }
    }
    Ok(())
}

fn cargo_fuzz() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz"]);
    command
}
