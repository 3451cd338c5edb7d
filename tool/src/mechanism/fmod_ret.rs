//! fmod_ret: a program and a link for each function, through its trampoline.
//!
//! Minimum kernel: 5.7 with BTF; 5.19 for the cookie.

use std::os::fd::{AsFd as _, OwnedFd};

use super::{MechanismError, Object};
use crate::{
    plan::Planned,
    sys::{self, Attach, ProgramKind},
};

const NAME: &str = "fmod-ret";

/// Loads the program for the function and attaches it, with its index as cookie.
pub(super) fn attach(
    object: &Object,
    index: u64,
    function: &Planned,
) -> Result<(OwnedFd, OwnedFd), MechanismError> {
    let btf_id = function
        .btf_id
        .ok_or_else(|| MechanismError::Object(format!("no BTF id for {}", function.name)))?;
    let kind = ProgramKind::ModifyReturn { btf_id };
    let program = object.load_program("inject_fmod_ret", NAME, kind)?;
    let link = sys::create_link(program.as_fd(), Attach::ModifyReturn { cookie: index }).map_err(
        |source| MechanismError::Attach {
            mechanism: NAME,
            function: function.name.clone(),
            source,
        },
    )?;
    Ok((program, link))
}
