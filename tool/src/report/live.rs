//! The line that a person sees while a run without COMMAND goes on.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use crate::session::Counts;

/// Rewritten in place; nothing at all where stderr is no terminal.
#[derive(Debug)]
pub struct LiveLine {
    shown: bool,
    wanted: bool,
}

impl LiveLine {
    /// `wanted`: nobody else writes to the terminal meanwhile.
    pub fn new(wanted: bool) -> Self {
        Self { shown: false, wanted: wanted && io::stderr().is_terminal() }
    }

    /// Shows how things stand.
    pub fn show(&mut self, counts: &[Counts], left: Option<Duration>) {
        if self.wanted {
            self.shown = true;
            // A terminal that is gone is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[K{}", text(counts, left));
        }
    }

    /// Clears the line, before anything else is printed.
    pub fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
            self.shown = false;
        }
    }
}

fn text(counts: &[Counts], left: Option<Duration>) -> String {
    let sum = |field: fn(&Counts) -> u64| counts.iter().map(field).sum::<u64>();
    let mut text = format!(
        "{} calls seen, {} in scope, {} injected",
        sum(|counts| counts.seen),
        sum(|counts| counts.in_scope),
        sum(|counts| counts.injected)
    );
    if let Some(left) = left {
        text += &format!(", {} s left", left.as_secs());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_sums_up_all_rules() {
        let one = Counts { seen: 10, in_scope: 5, injected: 1, ..Counts::default() };
        assert_eq!(text(&[one, one], None), "20 calls seen, 10 in scope, 2 injected");
        assert!(text(&[one], Some(Duration::from_secs(61))).ends_with(", 61 s left"));
    }
}
