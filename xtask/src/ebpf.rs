//! Builds the eBPF object with the pinned stable toolchain.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cargo::cargo;
use crate::paths::Paths;
use crate::run::run;

const TARGET: &str = "bpfel-unknown-none";

/// What rustc is told, one argument each:
/// aya-ebpf picks the layout of `pt_regs` by `bpf_target_arch`; BTF is made from debug information; atomics that return
/// the old value are instructions of v3 (Linux 5.12).
const RUSTFLAGS: [&str; 4] =
    ["--cfg=bpf_target_arch=\"x86_64\"", "-Cdebuginfo=2", "-Clink-arg=--btf", "-Ctarget-cpu=v3"];

/// Returns the object's absolute path.
pub fn build(paths: &Paths, bpf_linker: &Path) -> Result<PathBuf> {
    let dir = paths.target.join("ebpf");
    let log = paths.fresh_log("ebpf")?;
    let mut command = cargo(paths);
    command.args(["build", "--package", "inject-ebpf", "--release", "--target", TARGET]);
    command.args(["-Z", "build-std=core"]).env("RUSTC_BOOTSTRAP", "1");
    // A folder of its own: other flags in a shared one would rebuild both worlds each time.
    command.env("CARGO_TARGET_DIR", &dir);
    // This form wins over the user's RUSTFLAGS, which are for the host.
    command.env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\x1f"));
    command.env("CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER", bpf_linker);
    run("eBPF programs", &mut command, &log)?;

    let object = dir.join("inject-ebpf.o");
    let built = dir.join(TARGET).join("release/inject-ebpf");
    let bytes = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    // An unchanged object keeps its time, so that the programs that embed it are not built again.
    if fs::read(&object).ok().as_deref() != Some(&bytes) {
        fs::write(&object, bytes).with_context(|| format!("cannot write {}", object.display()))?;
    }
    Ok(object)
}
