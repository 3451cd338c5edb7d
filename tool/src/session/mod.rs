//! A plan put into effect: one transaction, and its way back.

mod command;
mod commit;
mod control;
mod error;
mod events;
mod kernel;
mod rules;
mod scope;
mod teardown;

pub use command::{Command, Outcome as CommandOutcome, RunningCommand};
pub use commit::{Session, SessionOptions};
pub use control::{Beat, HEARTBEAT, TIMEOUT};
pub use error::SessionError;
pub use events::StackHits;
pub use scope::ScopeOptions;
pub use teardown::{Counts, Ended, FunctionReport, KeyReport, RuleReport};
