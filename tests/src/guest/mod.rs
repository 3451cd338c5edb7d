//! The guest's side of the tests: running commands, looking at the kernel.

pub mod command;
pub mod probe;
pub mod state;
pub mod workload;
