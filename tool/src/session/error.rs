//! What stops a session.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{keys::KeysError, mechanism::MechanismError, running::RunningError};

/// Why a session did not come about, or did not end as it should.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SessionError {
    #[error(transparent)]
    Running(#[from] RunningError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    #[error(
        "running programs cannot be waited for here (membarrier: {0}), so calls could fail after \
         'off'; use a kernel with CONFIG_MEMBARRIER and without nohz_full"
    )]
    Quiesce(io::Error),
    #[error(
        "process {process} is exempt, because the session depends on it (PID 1, inject itself, or one \
         of its ancestors); name another with --pid"
    )]
    ExemptProcess { process: u32 },
    #[error("there is no process {process}; name another with --pid")]
    NoProcess { process: u32 },
    #[error("COMMAND cannot be started: {0}")]
    Spawn(io::Error),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
}
