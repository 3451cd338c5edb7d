//! `cargo xtask bench-image`: how long `inject list --image` takes, beside tools that read the same file.
//!
//! The least of several runs: what else the machine does only adds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cargo::cargo;
use crate::paths::Paths;
use crate::run::run as run_logged;

const RUNS: u32 = 5;

/// Prints a line a tool: seconds, and MiB resident where /usr/bin/time is there to tell.
pub fn run(paths: &Paths, image: &Path) -> Result<()> {
    if !image.is_file() {
        bail!("{} is no file; give a vmlinux or vmlinuz", image.display());
    }
    let log = paths.fresh_log("bench-image")?;
    run_logged("inject", cargo(paths).args(["build", "--release", "--package", "inject"]), &log)?;
    let inject = paths.target.join("release/inject");
    let file = image.display().to_string();
    let tools: [(PathBuf, &[&str]); 5] = [
        (inject.clone(), &["list", "--image", &file]),
        (inject, &["list", "--json", "--image", &file]),
        ("nm".into(), &[&file]),
        ("readelf".into(), &["-SsW", &file]),
        ("bpftool".into(), &["btf", "dump", "file", &file]),
    ];
    println!("{:>8} {:>8}  command", "seconds", "MiB");
    for (program, arguments) in tools {
        let shown = format!("{} {}", program.display(), arguments.join(" "));
        let (time, memory) = match measure(&program, arguments) {
            Ok(measured) => measured,
            Err(err) => {
                println!("{:>8} {:>8}  {shown}: {err:#}", "-", "-");
                continue;
            }
        };
        let memory = memory.map_or("-".to_owned(), |kib| (kib / 1024).to_string());
        println!("{:>8.3} {memory:>8}  {shown}", time.as_secs_f64());
    }
    Ok(())
}

/// The shortest time, and the most memory, in KiB.
fn measure(program: &Path, arguments: &[&str]) -> Result<(Duration, Option<u64>)> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let mut command = Command::new(program);
        let started = Instant::now();
        let output = command.args(arguments).stdout(Stdio::null()).output();
        best = best.min(started.elapsed());
        let output = output.context("cannot start it")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok((best, memory(program, arguments)))
}

fn memory(program: &Path, arguments: &[&str]) -> Option<u64> {
    let mut command = Command::new("/usr/bin/time");
    let output = command.args(["-f", "%M"]).arg(program).args(arguments).stdout(Stdio::null());
    let text = String::from_utf8(output.output().ok()?.stderr).ok()?;
    text.lines().last()?.trim().parse().ok()
}
