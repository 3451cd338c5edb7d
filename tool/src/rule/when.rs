//! `--when`: which calls, by number.

use std::{fmt, str::FromStr};

use inject_common::map;

use super::RuleError;

/// Call numbers `first`, `first + step`, … up to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    first: u64,
    last: u64,
    step: u64,
}

impl When {
    /// As the programs read it.
    pub fn range(self) -> map::When {
        map::When { first: self.first, last: self.last, step: self.step }
    }
}

impl FromStr for When {
    type Err = RuleError;

    /// `FIRST`, `FIRST..LAST`, `FIRST+`, `FIRST+STEP`, `FIRST..LAST+STEP`; all at least 1.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError::NotAWhen { text: text.to_owned() };
        let number =
            |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let (range, step) = match text.split_once('+') {
            None => (text, None),
            Some((range, "")) => (range, Some(1)),
            Some((range, step)) => (range, Some(number(step)?)),
        };
        let (first, last) = match (range.split_once(".."), step) {
            (Some((first, last)), _) => (number(first)?, number(last)?),
            (None, Some(_)) => (number(range)?, u64::MAX),
            (None, None) => (number(range)?, number(range)?),
        };
        if last < first {
            return Err(wrong());
        }
        Ok(Self { first, last, step: step.unwrap_or(1) })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        let open = self.last == u64::MAX;
        if !open && self.last != self.first {
            write!(f, "..{}", self.last)?;
        }
        match (self.step, open) {
            (1, true) => f.write_str("+"),
            (1, false) => Ok(()),
            (step, _) => write!(f, "+{step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_printed_as_it_was_written() {
        for (text, first, last, step) in [
            ("3", 3, 3, 1),
            ("3..7", 3, 7, 1),
            ("3+", 3, u64::MAX, 1),
            ("3+5", 3, u64::MAX, 5),
            ("3..20+4", 3, 20, 4),
        ] {
            let when: When = text.parse().unwrap();
            assert_eq!(when, When { first, last, step }, "{text}");
            assert_eq!(when.to_string(), text);
        }
        assert_eq!("3..7+".parse(), "3..7".parse::<When>());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "0", "x", "3..", "..3", "7..3", "3+0", "3+x", "3-5", "-3", "3..4..5"] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
