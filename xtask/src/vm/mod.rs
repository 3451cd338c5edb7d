//! The guest: built, booted, watched, and its end understood.

pub mod accel;
mod args;
mod btrfs;
mod console;
mod initramfs;
mod qemu;
mod rundir;
mod tree;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use accel::Accel;
use args::{Machine, Terminal};
use initramfs::Task;
use qemu::Exit;
use rundir::RunDir;

use crate::deps::{self, Part};
use crate::kernel::Kernel;
use crate::kernel::list::Spec;
use crate::paths::Paths;
use crate::progress::duration;
use crate::run::tail;
use crate::{ebpf, guest_programs, kmod};

/// A guest that boots needs some seconds, emulated or not.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

/// Everything that is built for a guest; booted as often as one likes.
pub struct Guest<'a> {
    paths: &'a Paths,
    pub kernel: Kernel,
    image: PathBuf,
    programs: Vec<PathBuf>,
    modules: Vec<PathBuf>,
    accel: Accel,
}

/// One boot with one job.
pub struct Job<'a> {
    /// Names the folder for the console log: `target/vm/<name>`.
    pub name: &'a str,
    /// A shell script.
    pub script: &'a str,
    pub kaslr: bool,
    /// Words for the kernel's command line.
    pub append: &'a [String],
    pub limit: Duration,
}

/// How a job ended that the guest could report.
pub struct Outcome {
    /// The script's exit status.
    pub status: i32,
    /// What the kernel complained of, if it did.
    pub complaints: Option<String>,
    pub took: Duration,
}

impl<'a> Guest<'a> {
    /// Installs and builds all that is missing.
    pub fn prepare(paths: &'a Paths, kernel: &str) -> Result<Self> {
        let spec = Spec::find(paths, kernel)?;
        let parts = [Part::Ebpf, Part::Programs, Part::Kernel, Part::Guest];
        let tools = deps::ensure(paths, &parts, Some(&spec))?;
        let object = ebpf::build(paths, &tools.bpf_linker)?;
        let programs = guest_programs::build(paths, &object, &["inject", "inject-tests"])?;
        let kernel = Kernel::get(paths, spec)?;
        let modules = kmod::build(paths, &kernel)?;
        let mut guest =
            Self { paths, image: kernel.image(), kernel, programs, modules, accel: Accel::Tcg };
        guest.accel = accel::choose(&paths.cache, || guest.kvm_works())?;
        let accel = guest.accel.describe();
        eprintln!("The guest is {} and runs under {accel}.", guest.kernel.spec.name);
        Ok(guest)
    }

    fn kvm_works(&self) -> Result<bool> {
        eprintln!("Trying whether KVM works here; this takes up to {}.", duration(TRIAL_LIMIT));
        let dir = RunDir::take(self.paths, "kvm-trial")?;
        let machine =
            Machine { accel: Accel::Kvm, ..self.machine(&dir, Terminal::Output, true, &[]) };
        self.write_initramfs(&dir, Task::Job("#!/bin/sh\nexit 0\n"))?;
        let exit = qemu::run(&machine, Some(TRIAL_LIMIT), |_| {})?;
        Ok(exit == Exit::Ended && dir.status() == Some(0))
    }

    /// Runs a job; `on_line` gets each line that it prints. A crash and a time-out are errors.
    pub fn run(&self, job: &Job<'_>, on_line: impl FnMut(&str)) -> Result<Outcome> {
        let dir = RunDir::take(self.paths, job.name)?;
        self.write_initramfs(&dir, Task::Job(job.script))?;
        let machine = self.machine(&dir, Terminal::Output, job.kaslr, job.append);
        let started = Instant::now();
        let exit = qemu::run(&machine, Some(job.limit), on_line)?;
        let took = started.elapsed();
        let log = dir.console()?;
        let complaints = console::report(&log);
        match (exit, dir.status()) {
            (Exit::TimedOut, _) => bail!(
                "the guest was still running after {}: time-out; {}",
                duration(job.limit),
                last_words(&dir, &log, complaints)
            ),
            (Exit::Ended, None) => {
                bail!("the guest crashed; {}", last_words(&dir, &log, complaints))
            }
            (Exit::Ended, Some(status)) => {
                let path = dir.console_log.display();
                let complaints =
                    complaints.map(|text| format!("the kernel complained, see {path}:\n{text}"));
                Ok(Outcome { status, complaints, took })
            }
        }
    }

    /// A shell for a person, until they leave it.
    pub fn shell(&self) -> Result<()> {
        let dir = RunDir::take(self.paths, "shell")?;
        self.write_initramfs(&dir, Task::Shell(&terminal_size()))?;
        let machine = self.machine(&dir, Terminal::Shell, true, &[]);
        qemu::run(&machine, None, |_| {})?;
        let log = dir.console()?;
        let complaints = console::report(&log);
        if dir.status().is_none() {
            bail!("the guest crashed; {}", last_words(&dir, &log, complaints));
        }
        if let Some(text) = complaints {
            eprintln!("The kernel complained, see {}:\n{text}", dir.console_log.display());
        }
        Ok(())
    }

    fn write_initramfs(&self, dir: &RunDir, task: Task<'_>) -> Result<()> {
        let contents = initramfs::Contents {
            kernel: &self.kernel,
            programs: &self.programs,
            modules: &self.modules,
            task,
        };
        initramfs::write(self.paths, &contents, &dir.initramfs)
    }

    fn machine<'d>(
        &'d self,
        dir: &'d RunDir,
        terminal: Terminal,
        kaslr: bool,
        append: &'d [String],
    ) -> Machine<'d> {
        let words = self.kernel.spec.command_line.iter().chain(append);
        Machine {
            kernel: &self.image,
            initramfs: &dir.initramfs,
            accel: self.accel,
            console_log: &dir.console_log,
            status: &dir.status,
            qemu_log: &dir.qemu_log,
            terminal,
            kaslr,
            append: words.map(String::as_str).collect(),
        }
    }
}

/// The size of this terminal, as stty takes it; empty where there is none. The guest cannot ask.
fn terminal_size() -> String {
    let size = Command::new("stty").arg("size").stdin(Stdio::inherit()).output();
    let size = size.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    match size.unwrap_or_default().split_whitespace().collect::<Vec<_>>()[..] {
        [rows, columns] => format!("rows {rows} columns {columns}\n"),
        _ => String::new(),
    }
}

/// What there is to read after a guest that could not report.
fn last_words(dir: &RunDir, log: &str, complaints: Option<String>) -> String {
    let path = dir.console_log.display();
    if let Some(text) = complaints {
        return format!("the kernel complained, see {path}:\n{text}");
    }
    if log.is_empty() {
        let qemu = fs::read_to_string(&dir.qemu_log).unwrap_or_default();
        return format!("its kernel printed nothing\n{}", tail(&qemu, 20));
    }
    format!("the end of {path}:\n{}", tail(log, 20))
}
