//! `cargo xtask install`: the static `inject` for this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::deps::{self, Part};
use crate::paths::Paths;
use crate::{ebpf, guest_programs};

pub fn run(paths: &Paths, prefix: &Path) -> Result<()> {
    let tools = deps::ensure(paths, &[Part::Ebpf, Part::Programs], None)?;
    let object = ebpf::build(paths, &tools.bpf_linker)?;
    let binaries = guest_programs::build(paths, &object, &["inject"])?;
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin).with_context(|| hint("create", &bin))?;
    let (temporary, installed) = (bin.join(".inject.new"), bin.join("inject"));
    // Beside it, then renamed: a running inject keeps its file, and nobody sees half of the new one.
    fs::copy(&binaries[0], &temporary).with_context(|| hint("write into", &bin))?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o755))?;
    fs::rename(&temporary, &installed).with_context(|| hint("write into", &bin))?;
    println!("{}", installed.display());
    Ok(())
}

fn hint(what: &str, dir: &Path) -> String {
    format!(
        "cannot {what} {}; become root or choose a folder of yours with --prefix",
        dir.display()
    )
}
