//! Time as the eBPF programs see it, and the wait for those that are running.

use std::io;

/// `CLOCK_MONOTONIC_COARSE` in nanoseconds: the clock that the programs compare the control word with.
pub fn coarse_now() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC_COARSE)
        .expect("this clock exists since Linux 2.6.32");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Returns when every non-sleepable eBPF program that was running at the time of the call has ended.
///
/// `MEMBARRIER_CMD_GLOBAL` waits for an RCU grace period, and the programs run inside RCU read sections. Minimum kernel:
/// 4.3. Fails with EINVAL on kernels with CPUs that run without ticks (`nohz_full`), ENOSYS without CONFIG_MEMBARRIER.
pub fn wait_for_running_programs() -> io::Result<()> {
    // SAFETY: no pointers.
    let result = unsafe {
        libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL as libc::c_int, 0, 0)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
