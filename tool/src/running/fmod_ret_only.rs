//! Functions that are in no list, but that fmod_ret can fail.
//!
//! `check_attach_modify_return()` in `kernel/bpf/verifier.c`: functions named `security_*`, and, where the kernel has no
//! error injection list at all, the newest kernels accept the entries of system calls.

use super::{InjectableList, KernelBtf, RunningError, Symbols, Traceable};
use crate::sys;

/// How system calls' functions begin (`SYSCALL_DEFINE` in the architecture's syscall_wrapper.h).
pub const SYSCALL_PREFIX: &str =
    if cfg!(target_arch = "aarch64") { "__arm64_sys_" } else { "__x64_sys_" };

/// Any system call that has been there always.
const PROBE: &str = "getpid";

/// Adds them to the list.
pub(super) fn add(
    list: &mut InjectableList,
    btf: &KernelBtf,
    symbols: &Symbols,
    traceable: &Traceable,
) -> Result<(), RunningError> {
    let hookable = |name: &String| traceable.contains(name) != Some(false);
    list.extend_by_fmod_ret(btf.lsm_hooks()?.into_iter().filter(hookable));
    if list.is_absent() && accepts_syscalls(btf) {
        let calls = symbols.iter().filter(|symbol| symbol.is_function());
        let calls = calls.filter_map(|symbol| symbol.name.strip_prefix(SYSCALL_PREFIX));
        list.extend_by_fmod_ret(calls.filter_map(|call| syscall_name(call, btf, traceable)));
    }
    Ok(())
}

/// The name by which ftrace knows a system call's function: it shows one of those that share an address.
fn syscall_name(call: &str, btf: &KernelBtf, traceable: &Traceable) -> Option<String> {
    let names = [format!("{SYSCALL_PREFIX}{call}"), format!("__do_sys_{call}")];
    if names.iter().all(|name| btf.functions(name).len() != 1) {
        return None;
    }
    names.into_iter().find(|name| traceable.contains(name) != Some(false))
}

/// Asked by loading: whether a kernel has this is not to be seen in its configuration.
fn accepts_syscalls(btf: &KernelBtf) -> bool {
    match btf.functions(&format!("{SYSCALL_PREFIX}{PROBE}"))[..] {
        [function] => sys::modify_return_program(function.id).is_ok(),
        _ => false,
    }
}
