//! `inject`: makes kernel functions fail on purpose, and flips the static keys that guard them.
//!
//! `image`, `rule` and `plan` are pure; `running` and `keys` ask the kernel; `mechanism` and `session` act on it.

pub mod check;
pub mod cli;
pub mod cmd;
pub mod exit;
pub mod image;
pub mod keys;
pub mod listing;
pub mod mechanism;
pub mod plan;
pub mod report;
pub mod rule;
pub mod running;
pub mod session;
pub mod suggest;
pub mod sys;
