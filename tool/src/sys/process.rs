//! Descriptors for processes.

use std::{
    io,
    os::fd::{FromRawFd as _, OwnedFd},
};

use nix::unistd::Pid;
use tokio::io::unix::AsyncFd;

/// A descriptor that becomes readable when the process ends. Minimum kernel: 5.3.
pub fn pidfd(process: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor, close-on-exec, that nobody else owns.
    let owned = unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) };
    // SAFETY: the descriptor belongs to the AsyncFd alone, which closes it only after it has deregistered it.
    Ok(unsafe { AsyncFd::register(owned) }?)
}
