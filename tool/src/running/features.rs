//! What the running kernel offers to attach with.

use super::Symbols;
use crate::sys;

/// `bpf_override_return` in include/uapi/linux/bpf.h.
const HELPER_OVERRIDE_RETURN: i32 = 58;

/// An answer that may be a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is there.
    Yes,
    /// It is not, and why, or what to do.
    No(String),
}

impl Answer {
    fn require(present: bool, reason: &str) -> Self {
        if present { Self::Yes } else { Self::No(reason.to_owned()) }
    }

    fn and(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Yes { other() } else { self }
    }

    /// Whether it is there.
    pub fn is_yes(&self) -> bool {
        *self == Self::Yes
    }
}

/// By mechanism.
#[derive(Clone, Debug)]
pub struct Features {
    /// One link over many functions, overriding their results.
    pub kprobe_multi: Answer,
    /// One program and link a function.
    pub fmod_ret: Answer,
}

impl Features {
    /// Asks the kernel. Needs root.
    pub fn probe(symbols: &Symbols, has_btf: bool) -> Self {
        Self { kprobe_multi: kprobe_multi(symbols), fmod_ret: fmod_ret(symbols, has_btf) }
    }
}

fn kprobe_multi(symbols: &Symbols) -> Answer {
    // A function of kernel/trace/fprobe.c that only kprobe-multi links call.
    let fprobe = symbols.contains("register_fprobe_ips");
    Answer::require(fprobe, "this kernel has no fprobe (CONFIG_FPROBE, Linux 5.18 or newer)")
        .and(override_return)
        .and(|| {
            let enabled = std::fs::read_to_string("/proc/sys/kernel/ftrace_enabled");
            Answer::require(
                enabled.map_or(true, |text| text.trim() != "0"),
                "ftrace is switched off; run 'sysctl kernel.ftrace_enabled=1'",
            )
        })
}

fn override_return() -> Answer {
    match sys::kernel_program(HELPER_OVERRIDE_RETURN) {
        Ok(_program) => Answer::Yes,
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Answer::No(
            "the kernel refuses kprobe programs (lockdown, or kernel.unprivileged_bpf_disabled)"
                .to_owned(),
        ),
        Err(_) => Answer::No(
            "eBPF programs may not override results here (CONFIG_BPF_KPROBE_OVERRIDE is off)"
                .to_owned(),
        ),
    }
}

fn fmod_ret(symbols: &Symbols, has_btf: bool) -> Answer {
    Answer::require(has_btf, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)").and(|| {
        Answer::require(
            symbols.contains("bpf_trampoline_link_prog")
                && symbols.contains("register_ftrace_direct"),
            "this kernel has no eBPF trampolines \
             (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, Linux 5.7 or newer)",
        )
    })
}
