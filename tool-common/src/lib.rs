//! What both sides of a map or an ioctl share: the layouts, and the decision itself.
//!
//! Everything here is `no_std` so that one body of code serves the eBPF programs, the command and the unit tests.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod decide;
pub mod keys;
pub mod map;
