//! Builds the static programs: `inject` with the real eBPF object inside, and the tests that run in the guest.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cargo::cargo;
use crate::paths::Paths;
use crate::run::run;

/// A target that links statically by itself: the guest has no libraries, and a host may have any.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds the packages, whose binaries have their names, and returns the binaries in the same order.
pub fn build(paths: &Paths, ebpf_object: &Path, packages: &[&str]) -> Result<Vec<PathBuf>> {
    let log = paths.fresh_log("guest-programs")?;
    let mut command = cargo(paths);
    command.args(["build", "--release", "--target", TARGET]).env("INJECT_EBPF_OBJECT", ebpf_object);
    // Nobody runs a debugger on them, and the guest's memory holds them twice while it boots.
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo");
    for package in packages {
        command.args(["--package", package, "--bin", package]);
    }
    run(&packages.join(" and "), &mut command, &log)?;
    let dir = dir(paths);
    Ok(packages.iter().map(|package| dir.join(package)).collect())
}

/// Whether an earlier job has built them, perhaps from other sources: then the next build is short.
pub fn are_built(paths: &Paths) -> bool {
    dir(paths).join("inject").is_file()
}

fn dir(paths: &Paths) -> PathBuf {
    paths.target.join(TARGET).join("release")
}
