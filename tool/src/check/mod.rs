//! The doctor: whether a fault can arrive, and if not, why, and what to do.
//!
//! Every question has three answers, and "cannot tell" is never taken for "no". What is found is data; `text` and `json`
//! say it.

mod config;
mod function;
mod hooked;
mod json;
mod machine;
mod probes;
mod text;
mod trial;

pub use function::function;
pub use json::json;
pub use machine::{Machine, machine};
pub use text::text;
pub use trial::trial;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is so; with what there is to know of it.
    Yes(String),
    /// It is not.
    No {
        /// What is wrong.
        what: String,
        /// What to do about it.
        advice: String,
    },
    /// Nobody can say, and why.
    Unknown(String),
}

impl Answer {
    fn yes(text: impl Into<String>) -> Self {
        Self::Yes(text.into())
    }

    fn no(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::No { what: what.into(), advice: advice.into() }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }

    /// Whether it is a clear no.
    pub fn is_no(&self) -> bool {
        matches!(self, Self::No { .. })
    }

    /// Whether it is a clear yes.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes(_))
    }
}

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The question, in a word or two.
    pub name: String,
    /// The answer.
    pub answer: Answer,
    /// Whether a fault cannot arrive without it.
    pub needed: bool,
}

impl Finding {
    fn needed(name: &str, answer: Answer) -> Self {
        Self { name: name.to_owned(), answer, needed: true }
    }

    fn useful(name: &str, answer: Answer) -> Self {
        Self { name: name.to_owned(), answer, needed: false }
    }

    /// Whether it stands in the way.
    pub fn stops(&self) -> bool {
        self.needed && self.answer.is_no()
    }
}

/// Everything about one function, or about the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The function; None: the machine.
    pub function: Option<String>,
    /// In the order in which a person would ask.
    pub findings: Vec<Finding>,
}

impl Part {
    /// Whether nothing here stands in the way.
    pub fn is_fine(&self) -> bool {
        !self.findings.iter().any(Finding::stops)
    }
}

/// All parts: the machine first, then functions, then the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In that order.
    pub parts: Vec<Part>,
}

impl Report {
    /// Whether a fault can arrive: at every function that was asked for, by all that is known.
    pub fn can_arrive(&self) -> bool {
        self.parts.iter().all(Part::is_fine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(findings: Vec<Finding>) -> Report {
        Report { parts: vec![Part { function: None, findings }] }
    }

    #[test]
    fn only_a_clear_no_to_something_needed_stops_a_fault() {
        let no = || Answer::no("off", "switch it on");
        assert!(report(vec![]).can_arrive());
        assert!(report(vec![Finding::needed("a", Answer::unknown("hidden"))]).can_arrive());
        assert!(report(vec![Finding::useful("a", no())]).can_arrive());
        assert!(!report(vec![Finding::needed("a", no())]).can_arrive());
    }
}
