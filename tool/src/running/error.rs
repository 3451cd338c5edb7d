//! What can be wrong with a running kernel, and what to do about it.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why the running kernel cannot be read, or not used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RunningError {
    #[error(
        "this kernel has no error injection: it was built without CONFIG_FUNCTION_ERROR_INJECTION; \
         boot one that has it (Ubuntu's and openSUSE's have, Debian's and Fedora's have not), \
         or try 'cargo xtask vm' of the inject sources"
    )]
    NoErrorInjection,
    #[error("needs root (CAP_SYS_ADMIN); run it with sudo")]
    NotRoot,
    #[error(
        "every address in /proc/kallsyms is zero; run 'sysctl kernel.kptr_restrict=1' and try again"
    )]
    HiddenAddresses,
    #[error("debugfs is not mounted; run 'mount -t debugfs none /sys/kernel/debug' and try again")]
    NoDebugfs,
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot understand {}: {what}; please report this kernel's version", path.display())]
    Format { path: PathBuf, what: String },
    #[error(
        "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF is off), which {needs} needs; \
         boot a kernel that has it"
    )]
    NoBtf { needs: &'static str },
}

impl RunningError {
    pub(super) fn read(path: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.into(), source }
    }
}
