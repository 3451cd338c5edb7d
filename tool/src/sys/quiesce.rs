//! The wait for eBPF programs that are running.

use std::io;

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
