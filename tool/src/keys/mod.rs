//! Static keys of the running kernel: which function has which, and holding them.

mod client;
mod error;
mod lookup;
mod witness;

pub use client::{HeldKeys, KeyDevice, KeyedFunction};
pub use error::KeysError;
pub use lookup::{FunctionKey, KeyKnowledge};
pub use witness::{Witness, WitnessError, open_running};
