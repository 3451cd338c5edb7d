//! Takes out of a built tree what neither external modules nor a reader of the kernel's core needs: over half of it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::paths::remove_dir;

/// What is compiled in already and no external module of ours looks at; the bootable image has been taken out.
const UNNEEDED: [&str; 7] =
    ["Documentation", "arch/x86/boot", "drivers", "fs", "net", "samples", "sound"];

/// The one architecture of the guests.
const ARCH: &str = "x86";

pub fn trim(tree: &Path) -> Result<()> {
    for name in UNNEEDED {
        remove_dir(&tree.join(name))?;
    }
    for entry in fs::read_dir(tree.join("arch"))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != ARCH {
            remove_dir(&entry.path())?;
        }
    }
    remove_objects(tree, true)
}

fn remove_objects(dir: &Path, top: bool) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            // scripts/ and tools/ hold programs that module builds run.
            if !(top && (name == "scripts" || name == "tools")) {
                remove_objects(&path, false)?;
            }
        } else if is_object(&name.to_string_lossy()) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn is_object(name: &str) -> bool {
    // .tmp_vmlinux.* are link stages, each as big as the kernel.
    let object = name.ends_with(".o") || name.ends_with(".a") || name.ends_with(".cmd");
    (object && name != "module.lds")
        || name.starts_with(".tmp_vmlinux")
        || name == "vmlinux.unstripped"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_go_and_what_module_builds_need_stays() {
        let tree = tempfile::tempdir().unwrap();
        let gone = [
            "arch/x86/boot/bzImage",
            "drivers/a.c",
            "arch/arm/a.c",
            "kernel/fork.o",
            "kernel/.fork.o.cmd",
            ".tmp_vmlinux.btf",
        ];
        let kept = [
            "arch/x86/Makefile",
            "kernel/fork.c",
            "scripts/mod/modpost.o",
            "tools/objtool/objtool.o",
            "vmlinux",
        ];
        for file in gone.iter().chain(&kept) {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        trim(tree.path()).unwrap();
        for file in gone {
            assert!(!tree.path().join(file).exists(), "{file}");
        }
        for file in kept {
            assert!(tree.path().join(file).exists(), "{file}");
        }
    }
}
