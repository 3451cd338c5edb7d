//! What Rust's side lacks: a component and a target of the pinned toolchain, and the eBPF linker.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cargo::cargo;
use crate::guest_programs::TARGET;
use crate::paths::Paths;
use crate::run::{output, run};

/// The one that loads the LLVM of the compiler in `rust-toolchain.toml`: the two change together.
pub const BPF_LINKER_VERSION: &str = "0.10.4";
const BPF_LINKER_FEATURES: &str = "rust-llvm-22";

/// The pinned toolchain's folder.
pub fn sysroot(paths: &Paths) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    Ok(output(rustc.args(["--print", "sysroot"]).current_dir(&paths.root))?.into())
}

pub fn has_source(sysroot: &Path) -> bool {
    sysroot.join("lib/rustlib/src/rust/library/core/Cargo.toml").is_file()
}

pub fn has_musl_target(sysroot: &Path) -> bool {
    sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir()
}

pub fn add_source(paths: &Paths) -> Result<()> {
    rustup(paths, "rust-src", &["component", "add", "rust-src"])
}

pub fn add_musl_target(paths: &Paths) -> Result<()> {
    rustup(paths, TARGET, &["target", "add", TARGET])
}

fn rustup(paths: &Paths, what: &str, args: &[&str]) -> Result<()> {
    let log = paths.fresh_log("rustup")?;
    run(
        &format!("install {what}"),
        Command::new("rustup").args(args).current_dir(&paths.root),
        &log,
    )
    .with_context(|| format!("the toolchain lacks {what}, and rustup could not add it"))
}

/// A copy of our own: the user's may load another LLVM.
pub fn bpf_linker(paths: &Paths) -> PathBuf {
    bpf_linker_root(paths).join("bin/bpf-linker")
}

fn bpf_linker_root(paths: &Paths) -> PathBuf {
    paths.cache.join("tools").join(format!("bpf-linker-{BPF_LINKER_VERSION}"))
}

pub fn install_bpf_linker(paths: &Paths) -> Result<()> {
    let log = paths.fresh_log("bpf-linker")?;
    let mut install = cargo(paths);
    install.args([
        "install",
        "bpf-linker",
        "--locked",
        "--version",
        &format!("={BPF_LINKER_VERSION}"),
    ]);
    install.args(["--no-default-features", "--features", BPF_LINKER_FEATURES]);
    // The work is done in LLVM: an optimised linker would only take longer to build.
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    // Cargo builds in a folder of its own that it removes afterwards.
    install.arg("--root").arg(bpf_linker_root(paths)).env_remove("CARGO_TARGET_DIR");
    run("bpf-linker", &mut install, &log)
}
