//! Who holds keys: the helper for user space, the kernel's own fault injection, all at once.

pub mod boot_option;
pub mod churn;
pub mod fail_nth;
pub mod fuzz;
pub mod helper;
pub mod legacy;
pub mod table;
pub mod target;
