//! A plan put into effect: one transaction, and its way back.

mod command;
mod commit;
mod control;
mod error;
mod kernel;
mod teardown;

pub use command::{Command, Outcome as CommandOutcome, RunningCommand};
pub use commit::{Scope, Session, SessionOptions};
pub use control::{Beat, HEARTBEAT, TIMEOUT};
pub use error::SessionError;
pub use teardown::{Ended, FunctionReport, KeyReport};
