//! The contract of exit statuses.

use std::process::ExitCode;

/// How `inject` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Success,
    /// COMMAND's own status, or 128 + N where signal N ended it.
    Command(u8),
    /// COMMAND was found, but could not be run.
    CannotRun,
    /// COMMAND was not found.
    NotFound,
    /// The run did not do what was asked.
    NotDone,
    /// `inject` itself failed.
    Failure,
}

impl Exit {
    /// The number.
    pub fn status(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Command(status) => status,
            Self::NotDone => 123,
            Self::Failure => 125,
            Self::CannotRun => 126,
            Self::NotFound => 127,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.status().into()
    }
}
