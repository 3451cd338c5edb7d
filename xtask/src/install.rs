//! `cargo xtask install`: the static `inject` for this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::deps::{self, Part};
use crate::paths::Paths;
use crate::{ebpf, guest_programs};

pub fn run(paths: &Paths, prefix: &Path) -> Result<()> {
    let bin = prefix.join("bin");
    // Beside it, then renamed: a running inject keeps its file, and nobody sees half of the new one.
    let (temporary, installed) = (bin.join(".inject.new"), bin.join("inject"));
    // Before minutes of building, whether it can be written at all.
    fs::create_dir_all(&bin).with_context(|| hint("create", &bin))?;
    fs::write(&temporary, "").with_context(|| hint("write into", &bin))?;
    let placed = build(paths).and_then(|program| place(&program, &temporary, &installed));
    if placed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    placed?;
    println!("{}", installed.display());
    Ok(())
}

fn build(paths: &Paths) -> Result<PathBuf> {
    let tools = deps::ensure(paths, &[Part::Ebpf, Part::Programs], None)?;
    let object = ebpf::build(paths, &tools.bpf_linker)?;
    let programs = guest_programs::build(paths, &object, &["inject"])?;
    programs.into_iter().next().context("cargo built no inject")
}

fn place(program: &Path, temporary: &Path, installed: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", installed.display());
    fs::copy(program, temporary).with_context(failed)?;
    fs::set_permissions(temporary, fs::Permissions::from_mode(0o755)).with_context(failed)?;
    fs::rename(temporary, installed).with_context(failed)
}

fn hint(what: &str, dir: &Path) -> String {
    format!(
        "cannot {what} {}; become root or choose a folder of yours with --prefix",
        dir.display()
    )
}
