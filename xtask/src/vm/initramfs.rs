//! What is in the guest: busybox, our programs and modules, the kernel's image, the job.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{btrfs, tree::Tree};
use crate::kernel::Kernel;
use crate::paths::Paths;
use crate::run::output;

const BUSYBOX: &str = "/bin/busybox";

/// What is built for the guest.
pub struct Contents<'a> {
    pub kernel: &'a Kernel,
    /// Go to `/bin`.
    pub programs: &'a [PathBuf],
    /// Go to `/lib/modules/RELEASE/extra`.
    pub modules: &'a [PathBuf],
    pub task: Task<'a>,
}

/// What init does when all is mounted.
#[derive(Clone, Copy)]
pub enum Task<'a> {
    /// Run this shell script.
    Job(&'a str),
    /// Give a shell on a terminal of this size: words for `stty`.
    Shell(&'a str),
}

/// Writes the archive. Not compressed: emulated, unpacking takes longer than loading a bigger file.
pub fn write(paths: &Paths, contents: &Contents<'_>, to: &Path) -> Result<()> {
    let tree = tree(paths, contents)?;
    let file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    tree.write(&mut out)?;
    out.flush().with_context(|| format!("cannot write {}", to.display()))
}

fn tree(paths: &Paths, contents: &Contents<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    for dir in ["dev", "proc", "sys", "run", "mnt", "root", "sbin", "usr/bin", "usr/sbin"] {
        tree.dir(dir, 0o755);
    }
    tree.dir("tmp", 0o1777);
    tree.file(
        "etc/passwd",
        0o644,
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    );
    tree.file("etc/group", 0o644, "root:x:0:\nnogroup:x:65534:\n");

    tree.file("bin/busybox", 0o755, read(Path::new(BUSYBOX))?);
    let applets =
        output(Command::new(BUSYBOX).arg("--list-full")).context("busybox-static is not there")?;
    for applet in applets.lines().filter(|applet| !applet.ends_with("bin/busybox")) {
        tree.link(applet, "/bin/busybox");
    }

    tree.file("init", 0o755, read(&paths.root.join("vm/init"))?);
    tree.file("demo/demo.sh", 0o755, read(&paths.root.join("vm/demo.sh"))?);
    tree.file("demo/workload", 0o755, read(&paths.root.join("vm/workload.sh"))?);
    tree.file(btrfs::IN_GUEST, 0o644, btrfs::image(paths)?);
    for program in contents.programs {
        tree.file(&format!("bin/{}", name(program)), 0o755, read(program)?);
    }
    let release = &contents.kernel.release;
    for module in contents.modules {
        tree.file(&format!("lib/modules/{release}/extra/{}", name(module)), 0o644, read(module)?);
    }
    // insmod and rmmod work without it, modprobe wants a list even if nothing depends on anything.
    let list: String =
        contents.modules.iter().map(|module| format!("extra/{}:\n", name(module))).collect();
    tree.file(&format!("lib/modules/{release}/modules.dep"), 0o644, list);
    tree.file(&format!("boot/vmlinux-{release}"), 0o644, read(&contents.kernel.vmlinux())?);
    match contents.task {
        Task::Job(script) => tree.file("job", 0o755, script),
        Task::Shell(size) => tree.file("etc/terminal-size", 0o644, size),
    }
    Ok(tree)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
