//! What the kernel can do, asked of the kernel: a table.
//!
//! Each probe loads and attaches for real where that harms nobody. A failure that could have another reason than the
//! missing feature is "cannot tell".

use std::{io, os::fd::AsFd as _};

use super::{Answer, machine::Machine};
use crate::{
    running::SYSCALL_PREFIX,
    sys::{self, Attach, ProgramKind},
};

/// A question to the kernel.
pub(super) struct Probe {
    pub(super) name: &'static str,
    /// The first kernel that can have it.
    pub(super) since: (u32, u32),
    /// How it is found out, for people who doubt the answer.
    pub(super) how: &'static str,
    /// What to do when it is missing.
    pub(super) advice: &'static str,
    pub(super) ask: fn(&Machine) -> Asked,
}

/// What the kernel said.
pub(super) enum Asked {
    Yes,
    No(String),
    Unknown(String),
}

/// `bpf_override_return` in include/uapi/linux/bpf.h.
const OVERRIDE_RETURN: i32 = 58;

pub(super) const KPROBE_MULTI: &str = "kprobe-multi";
pub(super) const OVERRIDE: &str = "override";
pub(super) const FMOD_RET: &str = "fmod-ret";
pub(super) const FMOD_RET_SYSCALLS: &str = "fmod-ret everywhere";

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        name: KPROBE_MULTI,
        since: (5, 18),
        how: "an empty program is attached to a system call and detached",
        advice: "boot a kernel with CONFIG_FPROBE, or use fmod-ret",
        ask: kprobe_multi,
    },
    Probe {
        name: OVERRIDE,
        since: (4, 16),
        how: "a program that overrides is loaded",
        advice: "boot a kernel with CONFIG_BPF_KPROBE_OVERRIDE, or use fmod-ret",
        ask: override_return,
    },
    Probe {
        name: FMOD_RET,
        since: (5, 7),
        how: "an empty program for an injectable function is loaded, attached and detached",
        advice: "boot a kernel with CONFIG_DEBUG_INFO_BTF and \
                 CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, or use kprobe-multi",
        ask: fmod_ret,
    },
    Probe {
        name: FMOD_RET_SYSCALLS,
        since: (5, 7),
        how: "an empty program for a system call is loaded",
        advice: "boot a kernel with CONFIG_FUNCTION_ERROR_INJECTION",
        ask: fmod_ret_syscalls,
    },
];

/// Puts a probe's answer into words.
pub(super) fn ask(probe: &Probe, machine: &Machine) -> Answer {
    match (probe.ask)(machine) {
        Asked::Yes => Answer::yes(probe.how),
        Asked::Unknown(why) => Answer::unknown(why),
        Asked::No(why) => {
            let (major, minor) = probe.since;
            let old = machine.version.is_some_and(|version| version < probe.since);
            let advice = if old {
                format!("boot Linux {major}.{minor} or newer")
            } else {
                probe.advice.to_owned()
            };
            Answer::no(why, advice)
        }
    }
}

/// The kernel's own, in include/linux/errno.h; it leaks to user space here and there.
const ENOTSUPP: i32 = 524;

/// The rights are missing, or lockdown is in the way: that says nothing about the feature.
fn classify(error: &io::Error, what: &str) -> Asked {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Asked::Unknown(format!("{what}: {error}")),
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOENT | ENOTSUPP) => {
            Asked::No(format!("{what}: {error}"))
        }
        // Busy, out of memory, switched off: not what was asked.
        _ => Asked::Unknown(format!("{what}: {error}")),
    }
}

fn kprobe_multi(machine: &Machine) -> Asked {
    let Some(address) = machine.symbols.as_ref().and_then(|all| all.address(&harmless())) else {
        return Asked::Unknown(format!("the address of {} is hidden", harmless()));
    };
    let program = match sys::empty_program(ProgramKind::KprobeMulti) {
        Ok(program) => program,
        Err(error) => return classify(&error, "its program does not load"),
    };
    let attach = Attach::KprobeMulti { addresses: &[address], cookies: &[0] };
    match sys::create_link(program.as_fd(), attach) {
        Ok(_link) => Asked::Yes,
        Err(error) => classify(&error, "its link is refused"),
    }
}

fn override_return(_machine: &Machine) -> Asked {
    match sys::kernel_program(OVERRIDE_RETURN) {
        Ok(_program) => Asked::Yes,
        Err(error) => classify(&error, "eBPF programs may not override results"),
    }
}

/// The hook of security modules that costs least; it is there with CONFIG_SECURITY.
const HOOK: &str = "security_settime64";

fn fmod_ret(machine: &Machine) -> Asked {
    let Some(btf) = &machine.btf else { return Asked::No("this kernel has no BTF".to_owned()) };
    // One of these is there and may be changed, unless nothing may.
    let candidates = [harmless(), HOOK.to_owned(), "bpf_modify_return_test".to_owned()];
    let ids = candidates.iter().filter_map(|name| match btf.functions(name)[..] {
        [function] => Some(function.id),
        _ => None,
    });
    let mut last = Asked::No("no function of this kernel takes it".to_owned());
    for id in ids {
        let linked = sys::modify_return_program(id).and_then(|program| {
            sys::create_link(program.as_fd(), Attach::ModifyReturn { cookie: 0 }).map(drop)
        });
        match linked {
            Ok(()) => return Asked::Yes,
            Err(error) => last = classify(&error, "its program is refused"),
        }
    }
    last
}

fn fmod_ret_syscalls(machine: &Machine) -> Asked {
    let Some(btf) = &machine.btf else { return Asked::No("this kernel has no BTF".to_owned()) };
    match btf.functions(&harmless())[..] {
        [function] => match sys::modify_return_program(function.id) {
            Ok(_program) => Asked::Yes,
            Err(error) => classify(&error, "its program is refused"),
        },
        _ => Asked::Unknown(format!("{} is not in BTF", harmless())),
    }
}

/// A system call that nobody needs, and that fails for nobody but us.
pub(super) fn harmless() -> String {
    format!("{SYSCALL_PREFIX}getpgid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_and_passing_trouble_are_no_no() {
        let classify = |number| classify(&io::Error::from_raw_os_error(number), "x");
        assert!(matches!(classify(libc::EPERM), Asked::Unknown(_)));
        assert!(matches!(classify(libc::EBUSY), Asked::Unknown(_)));
        assert!(matches!(classify(libc::ENOMEM), Asked::Unknown(_)));
        assert!(matches!(classify(libc::EINVAL), Asked::No(_)));
    }

    #[test]
    fn an_old_kernel_is_told_to_be_old() {
        let probe = Probe { ask: |_| Asked::No("no".to_owned()), ..PROBES[0] };
        let advice = |version| match ask(&probe, &Machine { version, ..Machine::default() }) {
            Answer::No { advice, .. } => advice,
            other => panic!("{other:?}"),
        };
        assert_eq!(advice(Some((5, 10))), "boot Linux 5.18 or newer");
        assert!(advice(Some((6, 1))).contains("CONFIG_FPROBE"));
        assert!(advice(None).contains("CONFIG_FPROBE"));
    }
}
