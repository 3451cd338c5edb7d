//! Injections, one by one.

use std::fmt::Write as _;

use inject_common::map::Event;

use super::Places;

/// An injection with everything that is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// As the programs reported it.
    pub event: Event,
    /// The function that failed.
    pub function: String,
    /// What it returned, by name.
    pub value: String,
    /// The kernel stack, the innermost address first; empty: not kept, or not asked for.
    pub stack: Vec<u64>,
}

impl Traced {
    /// The task's name.
    pub fn comm(&self) -> String {
        let comm = &self.event.comm;
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
        String::from_utf8_lossy(&comm[..end]).into_owned()
    }

    /// One line, and one a place of the stack.
    pub fn text(&self, places: &Places) -> String {
        let Event { time, number, process, thread, .. } = self.event;
        let task =
            if process == thread { format!("{process}") } else { format!("{process}/{thread}") };
        let mut text = format!(
            "{:>12.6} {} {task} {} = {} (call {number})\n",
            time as f64 / 1e9,
            self.comm(),
            self.function,
            self.value,
        );
        for address in &self.stack {
            let _ = writeln!(text, "             {}", places.name(*address));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_who_what_and_where() {
        let event = Event {
            time: 12_345_678_000,
            number: 7,
            process: 40,
            thread: 41,
            comm: *b"cat\0\0\0\0\0\0\0\0\0\0\0\0\0",
            ..Event::default()
        };
        let traced = Traced {
            event,
            function: "should_failslab".to_owned(),
            value: "ENOMEM".to_owned(),
            stack: vec![0x10],
        };
        assert_eq!(
            traced.text(&Places::default()),
            "   12.345678 cat 40/41 should_failslab = ENOMEM (call 7)\n             0x10\n"
        );
    }
}
