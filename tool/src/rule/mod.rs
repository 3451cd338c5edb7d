//! Text to rule. Pure: no kernel, no root.

mod errno;
mod error;
mod guard;
mod rate;
mod value;
mod when;
mod word;

pub use error::RuleError;
pub use guard::{GFP_NOFAIL, GuardKind, guard_kind};
pub use rate::{Rate, percent};
pub use value::{Asked, Value};
pub use when::When;
pub use word::{Options, Word, parse_times};
