//! kprobe-multi: one link over any number of functions, whose results the program overrides.
//!
//! Minimum kernel: 5.18, with CONFIG_FPROBE and CONFIG_BPF_KPROBE_OVERRIDE.

use std::os::fd::{AsFd as _, OwnedFd};

use super::{MechanismError, Object};
use crate::{
    plan::Planned,
    sys::{self, Attach, ProgramKind},
};

const NAME: &str = "kprobe-multi";

/// Loads the program once and attaches it to all of the functions, each with its index as cookie.
pub(super) fn attach(
    object: &Object,
    functions: &[(u64, &Planned)],
) -> Result<(OwnedFd, OwnedFd), MechanismError> {
    let program = object.load_program("inject_kprobe", NAME, ProgramKind::KprobeMulti)?;
    // The kernel sorts by address and wants cookies to go along only with addresses, not with names.
    let mut targets: Vec<(u64, u64)> =
        functions.iter().map(|(index, function)| (function.address, *index)).collect();
    targets.sort_unstable();
    let (addresses, cookies): (Vec<u64>, Vec<u64>) = targets.into_iter().unzip();
    let attach = Attach::KprobeMulti { addresses: &addresses, cookies: &cookies };
    let link = sys::create_link(program.as_fd(), attach).map_err(|source| {
        let names: Vec<_> = functions.iter().map(|(_, function)| function.name.as_str()).collect();
        MechanismError::Attach { mechanism: NAME, function: names.join(", "), source }
    })?;
    Ok((program, link))
}
