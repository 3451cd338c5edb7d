//! The guest's side of the tests: running commands, looking at the kernel.

pub mod agent;
pub mod churn;
pub mod command;
pub mod counts;
pub mod fuzz;
pub mod legacy;
pub mod probe;
pub mod random;
pub mod raw;
pub mod settings;
pub mod state;
pub mod workload;
