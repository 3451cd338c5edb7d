//! The verbs: one file each.

mod check;
mod list;
mod request;
mod run;

pub use check::check;
pub use list::list;
pub use run::run;

use std::{
    fmt,
    io::{self, Write as _},
};

use crate::exit::Exit;

/// Prints on stdout; a reader who has seen enough is no failure.
fn print(text: &str) -> anyhow::Result<Exit> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        written => Ok(written.map(|()| Exit::Success)?),
    }
}

/// Several failures of one kind, each on its own line.
#[derive(Debug)]
pub struct Several<E>(pub Vec<E>);

impl<E: fmt::Display> fmt::Display for Several<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Several<E> {}
