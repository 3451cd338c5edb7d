//! What can go wrong on the way into the kernel.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why a program is not on its function.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum MechanismError {
    #[error(
        "this inject was built without its eBPF programs; build the real one with \
         'cargo xtask install'"
    )]
    Stub,
    #[error("the eBPF object cannot be loaded: {0}")]
    Load(#[from] aya::EbpfError),
    #[error("the eBPF object is damaged: {0}; build inject anew")]
    Object(String),
    #[error("the map {name}: {source}")]
    Map { name: &'static str, source: io::Error },
    #[error("the map {name}: {source}")]
    MapCall { name: &'static str, source: aya::maps::MapError },
    #[error("the kernel refuses the program for {mechanism}: {source}{}", verifier(log))]
    Program { mechanism: &'static str, source: io::Error, log: String },
    #[error("{function}: cannot be attached by {mechanism}: {source}{}", hint(source))]
    Attach { mechanism: &'static str, function: String, source: io::Error },
    #[error("forks cannot be followed: {0}")]
    Tasks(#[from] aya::programs::ProgramError),
    #[error("the kernel's clock cannot be read (BPF_PROG_TEST_RUN): {0}")]
    Clock(aya::programs::ProgramError),
    #[error("the control group {} cannot be opened: {source}", path.display())]
    Cgroup { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a control group: {source}; name a folder below /sys/fs/cgroup",
        path.display()
    )]
    NotACgroup { path: PathBuf, source: aya::maps::MapError },
    #[error("a link that was just made is gone: {0}")]
    LinkLost(io::Error),
}

/// The last line of the verifier's log, which names the reason.
fn verifier(log: &str) -> String {
    let reason = log.lines().rev().find(|line| !line.starts_with("processed "));
    reason.map(|line| format!(" ({})", line.trim())).unwrap_or_default()
}

fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY) => "; something else, such as a live patch, has this function",
        Some(libc::E2BIG) => "; too many programs are on this function already",
        Some(libc::ENODEV) => "; ftrace is switched off: run 'sysctl kernel.ftrace_enabled=1'",
        _ => "",
    }
}
