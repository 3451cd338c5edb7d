//! What a run did, for people.

mod summary;
mod table;

pub use summary::{Asked, summary, verdict};
pub use table::table;
