//! Builds `tool-kmod/` against a kernel from the cache, in a copy of the folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::kernel::{Kernel, make};
use crate::paths::{Paths, create_dir};
use crate::run::run;

/// The modules that came out.
pub fn build(paths: &Paths, kernel: &Kernel) -> Result<Vec<PathBuf>> {
    let dir = paths.target.join("kmod").join(kernel.id());
    copy_sources(&paths.root.join("tool-kmod"), &dir)?;
    let log = paths.fresh_log("kmod")?;
    let mut make = make(&kernel.tree());
    make.arg(format!("M={}", dir.display())).arg("modules");
    run("kernel modules", &mut make, &log)?;
    let order = dir.join("modules.order");
    let order =
        fs::read_to_string(&order).with_context(|| format!("cannot read {}", order.display()))?;
    Ok(modules(&order).map(|name| dir.join(format!("{name}.ko"))).collect())
}

/// The names in make's list of what it built. Older kernels name the `.ko`, newer ones the `.o`. A `.ko` that merely lies
/// in the folder may be from sources that are gone.
fn modules(order: &str) -> impl Iterator<Item = &str> {
    order.lines().filter_map(|line| Path::new(line.trim()).file_stem()?.to_str())
}

/// Copies what changed only, so that make has nothing to do when nothing did.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    create_dir(to)?;
    let sources = files(from, is_source)?;
    for old in files(to, is_source)? {
        let kept = sources.iter().any(|source| source.file_name() == old.file_name());
        // modpost's NAME.mod.c looks like a source and has none.
        if !kept && !old.display().to_string().ends_with(".mod.c") {
            fs::remove_file(&old)?;
        }
    }
    for source in sources {
        let copy = to.join(source.file_name().unwrap_or_default());
        let bytes =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        if fs::read(&copy).ok().as_deref() != Some(&bytes) {
            fs::write(&copy, bytes).with_context(|| format!("cannot write {}", copy.display()))?;
        }
    }
    Ok(())
}

fn is_source(name: &str) -> bool {
    name.ends_with(".c") || name.ends_with(".h") || name == "Kbuild" || name == "Makefile"
}

fn files(dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() && wanted(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_list_names_the_modules_whatever_the_kernel_writes() {
        let names: Vec<&str> = modules("/t/inject_keys.ko\ninject_target.o\n\n").collect();
        assert_eq!(names, ["inject_keys", "inject_target"]);
    }

    #[test]
    fn only_sources_are_copied_and_unchanged_ones_keep_their_time() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["a.c", "a.h", "Kbuild", "a.ko", "README"] {
            fs::write(from.path().join(name), name).unwrap();
        }
        fs::write(to.path().join("gone.c"), "").unwrap();
        fs::write(to.path().join("a.mod.c"), "").unwrap();
        copy_sources(from.path(), to.path()).unwrap();
        let time = || fs::metadata(to.path().join("a.c")).unwrap().modified().unwrap();
        let first = time();
        copy_sources(from.path(), to.path()).unwrap();
        assert_eq!(time(), first);
        let mut names: Vec<_> =
            fs::read_dir(to.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["Kbuild", "a.c", "a.h", "a.mod.c"]);
    }
}
