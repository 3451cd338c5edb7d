//! fork(2).

use std::io;

use nix::unistd::{ForkResult, Pid};

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Forked {
    /// The caller, with the new process.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks a process that has one thread.
///
/// # Panics
///
/// If there are more threads: the child could not even allocate.
pub fn fork() -> io::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    assert_eq!(threads, 1, "fork() comes before every thread");
    // SAFETY: with one thread no lock can be held by another, so the child may do all that the parent may.
    Ok(match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Forked::Parent(child),
        ForkResult::Child => Forked::Child,
    })
}
