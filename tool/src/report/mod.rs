//! What a run does and did, for people and for programs.

mod interval;
mod json;
mod live;
mod output;
mod place;
mod summary;
mod table;
mod trace;
mod verdict;

pub use live::LiveLine;
pub use output::Output;
pub use place::Places;
pub use summary::Asked;
pub use table::table;
pub use trace::Traced;
pub use verdict::verdict;
