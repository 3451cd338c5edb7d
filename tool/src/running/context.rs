//! The surroundings of this process.

use std::path::PathBuf;

use super::RunningError;

/// `CAP_SYS_ADMIN` of include/uapi/linux/capability.h.
const CAP_SYS_ADMIN: u32 = 21;
/// `PROC_PID_INIT_INO` of include/linux/proc_ns.h.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Fails where this process lacks the rights that everything else here needs.
pub fn require_root() -> Result<(), RunningError> {
    const PATH: &str = "/proc/self/status";
    let status = std::fs::read_to_string(PATH).map_err(RunningError::read(PATH))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    if effective & (1 << CAP_SYS_ADMIN) != 0 && nix::unistd::geteuid().is_root() {
        Ok(())
    } else {
        Err(RunningError::NotRoot)
    }
}

/// Whether process ids here are the ones that eBPF programs see.
pub fn is_initial_pid_namespace() -> bool {
    std::fs::read_link("/proc/self/ns/pid")
        .is_ok_and(|link| link.to_str() == Some(INITIAL_PID_NAMESPACE))
}

/// How many CPUs there can be: the highest number in `/sys/devices/system/cpu/possible`, plus one.
pub fn possible_cpus() -> Result<u32, RunningError> {
    const PATH: &str = "/sys/devices/system/cpu/possible";
    let text = std::fs::read_to_string(PATH).map_err(RunningError::read(PATH))?;
    text.trim()
        .rsplit([',', '-'])
        .next()
        .and_then(|last| last.parse::<u32>().ok())
        .map(|last| last + 1)
        .ok_or_else(|| RunningError::Format { path: PATH.into(), what: format!("'{text}'") })
}

/// Where the running kernel's image usually lies, if it is there: the uncompressed one, with its symbols, rather than
/// the compressed one.
pub fn online_image() -> Option<PathBuf> {
    let release = nix::sys::utsname::uname().ok()?.release().to_str()?.to_owned();
    [
        format!("/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
        format!("/lib/modules/{release}/vmlinux"),
        format!("/lib/modules/{release}/build/vmlinux"),
        format!("/boot/vmlinuz-{release}"),
        format!("/lib/modules/{release}/vmlinuz"),
    ]
    .into_iter()
    .map(PathBuf::from)
    .find(|path| path.is_file())
}
