//! Builds one kernel into its folder in the cache.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, bail};

use super::config::unfulfilled;
use super::list::Spec;
use super::trim::trim;
use crate::paths::{Paths, create_dir};
use crate::run::{run, run_counted};

/// Lines that make prints for such a kernel, until a build on this machine has counted them.
const EXPECTED_LINES: u64 = 2300;

/// Variables of the caller that would change what is built.
const UNWANTED: [&str; 9] = [
    "ARCH",
    "CCACHE_DISABLE",
    "CC",
    "CROSS_COMPILE",
    "KBUILD_OUTPUT",
    "KCONFIG_CONFIG",
    "LLVM",
    "MAKEFLAGS",
    "MAKELEVEL",
];

/// Fills `dir`: `bzImage`, `vmlinux`, `config`, `release`, and `tree`, which external modules are built against.
pub fn build(paths: &Paths, spec: &Spec, dir: &Path) -> Result<()> {
    let tree = dir.join("tree");
    let log = dir.join("build.log");
    fs::write(&log, "").with_context(|| format!("cannot write {}", log.display()))?;
    unpack(spec, &tree, &log)?;
    for patch in spec.patches(paths)? {
        apply(&tree, &patch, &log)?;
    }
    configure(paths, spec, &tree, &log)?;
    compile(paths, spec, &tree, &log)?;

    copy(&tree.join("arch/x86/boot/bzImage"), &dir.join("bzImage"))?;
    copy(&tree.join(".config"), &dir.join("config"))?;
    copy(&tree.join("include/config/kernel.release"), &dir.join("release"))?;
    // The guest's copy: symbols, BTF and .init.data stay, DWARF goes.
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(dir.join("vmlinux")).arg(tree.join("vmlinux"));
    run("strip vmlinux", &mut strip, &log)?;
    trim(&tree)
}

fn unpack(spec: &Spec, tree: &Path, log: &Path) -> Result<()> {
    create_dir(tree)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--use-compress-program=xz -T0", "--file"]);
    tar.arg(spec.tarball()).arg("--directory").arg(tree);
    run(&format!("unpack {}", spec.source), &mut tar, log)
}

fn apply(tree: &Path, patch: &Path, log: &Path) -> Result<()> {
    let mut command = Command::new("patch");
    // No fuzz: a patch that no longer fits exactly must be looked at.
    command
        .args(["-p1", "--fuzz=0", "--no-backup-if-mismatch", "--input"])
        .arg(patch)
        .current_dir(tree);
    let name = patch.file_name().unwrap_or_default().display().to_string();
    run(&format!("apply {name}"), &mut command, log)
}

fn configure(paths: &Paths, spec: &Spec, tree: &Path, log: &Path) -> Result<()> {
    run("configure", make_cached(paths, tree).arg("tinyconfig"), log)?;
    let fragments = spec.fragments(paths);
    let mut merge = Command::new("scripts/kconfig/merge_config.sh");
    merge.args(["-m", ".config"]).args(&fragments).current_dir(tree);
    run("merge the fragments", &mut merge, log)?;
    run("configure", make_cached(paths, tree).arg("olddefconfig"), log)?;

    let config = fs::read_to_string(tree.join(".config"))?;
    for fragment in fragments {
        let text = fs::read_to_string(&fragment)?;
        let missing = unfulfilled(&text, &config);
        if !missing.is_empty() {
            let list = missing.join("\n  ");
            bail!(
                "{}: this kernel cannot have\n  {list}\nA dependency is off.",
                fragment.display()
            );
        }
    }
    Ok(())
}

/// make with the compiler behind ccache: kernels that differ in an option or a patch share all objects that come out
/// the same, wherever their trees lie. A copied tree would not do: the tools in it know their absolute path, and when
/// those are built again, so is everything else.
fn make_cached(paths: &Paths, tree: &Path) -> Command {
    let mut make = make(tree);
    make.arg("CC=ccache gcc").env("CCACHE_DIR", paths.cache.join("ccache"));
    // Not the user's settings: some trade certainty for speed.
    make.env("CCACHE_CONFIGPATH", "/dev/null").env("CCACHE_COMPILERCHECK", "content");
    // The folder shows up in DWARF only, which nobody here reads for its paths.
    make.env("CCACHE_NOHASHDIR", "1").env("CCACHE_MAXSIZE", "4G");
    make
}

fn compile(paths: &Paths, spec: &Spec, tree: &Path, log: &Path) -> Result<()> {
    let counts = paths.cache.join("kernels").join(format!("{}.lines", spec.name));
    let expected = fs::read_to_string(&counts).ok().and_then(|text| text.trim().parse().ok());
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut command = make_cached(paths, tree);
    command.arg(format!("-j{jobs}")).args(["bzImage", "vmlinux", "modules"]);
    let label = format!("kernel {}", spec.name);
    let lines = run_counted(&label, &mut command, log, Some(expected.unwrap_or(EXPECTED_LINES)))?;
    // Only the next build's bar depends on it.
    let _ = fs::write(counts, lines.to_string());
    Ok(())
}

/// make in a kernel tree, with everything fixed that would make two builds differ.
pub fn make(tree: &Path) -> Command {
    let mut make = Command::new("setpriv");
    // If this process is killed, make must not go on in a folder that nobody has locked. It ends its own children.
    make.args(["--pdeathsig", "TERM", "make"]);
    for name in UNWANTED {
        make.env_remove(name);
    }
    make.args(["--no-print-directory", "-C"]).arg(tree).env("LC_ALL", "C");
    make.env("KBUILD_BUILD_TIMESTAMP", "1970-01-01").env("KBUILD_BUILD_USER", "inject");
    // An empty LOCALVERSION keeps the version script from adding a "+".
    make.env("KBUILD_BUILD_HOST", "inject")
        .env("KBUILD_BUILD_VERSION", "1")
        .env("LOCALVERSION", "");
    make
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
