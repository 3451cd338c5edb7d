//! A function's word on the command line: a name or glob, and what differs from the plain options.

use super::{Asked, Rate, RuleError, When};

/// `FUNC`, or `FUNC:OPTION=VALUE:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The function as written: a name or a glob, perhaps with `sys:` or `MODULE:` before it.
    pub pattern: String,
    /// What happens to it.
    pub options: Options,
}

/// What happens to a function's calls. None and empty: not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What it returns.
    pub value: Option<Asked>,
    /// Which share of the calls fails.
    pub rate: Option<Rate>,
    /// Which calls, by number.
    pub when: Vec<When>,
    /// How many at most.
    pub times: Option<u64>,
}

impl Word {
    /// Reads a word. The first segment with `=` starts the options, so names may contain `:`.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let segments: Vec<&str> = text.split(':').collect();
        let names = segments.iter().take_while(|segment| !segment.contains('=')).count();
        let pattern = segments[..names].join(":");
        if pattern.is_empty() {
            return Err(RuleError::NoFunction { word: text.to_owned() });
        }
        let mut options = Options::default();
        for segment in &segments[names..] {
            options.set(text, segment)?;
        }
        Ok(Self { pattern, options })
    }
}

impl Options {
    fn set(&mut self, word: &str, segment: &str) -> Result<(), RuleError> {
        let unknown =
            || RuleError::UnknownOption { word: word.to_owned(), option: segment.to_owned() };
        let (name, value) = segment.split_once('=').ok_or_else(unknown)?;
        match name {
            "errno" | "error" => self.value = Some(Asked::Errno(value.to_owned())),
            "return" | "retval" => self.value = Some(Asked::Return(value.to_owned())),
            "rate" => self.rate = Some(value.parse()?),
            "when" => self.when.push(value.parse()?),
            "times" => self.times = Some(parse_times(value)?),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// These, and what is not said here from the plain ones.
    pub fn or(self, plain: &Self) -> Self {
        Self {
            value: self.value.or_else(|| plain.value.clone()),
            rate: self.rate.or(plain.rate),
            when: if self.when.is_empty() { plain.when.clone() } else { self.when },
            times: self.times.or(plain.times),
        }
    }
}

/// A number of calls, from 1.
pub fn parse_times(text: &str) -> Result<u64, RuleError> {
    text.parse()
        .ok()
        .filter(|times| (1..u64::MAX).contains(times))
        .ok_or_else(|| RuleError::NotATimes { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_belong_to_the_name_until_an_option_begins() {
        let word = Word::parse("sys:mount:errno=EIO:rate=0.1%:when=3+5:when=9:times=2").unwrap();
        assert_eq!(word.pattern, "sys:mount");
        assert_eq!(word.options.value, Some(Asked::Errno("EIO".to_owned())));
        assert_eq!(word.options.rate, Some("0.1%".parse().unwrap()));
        assert_eq!(word.options.when.len(), 2);
        assert_eq!(word.options.times, Some(2));
        assert_eq!(Word::parse("btrfs:open_ctree").unwrap().pattern, "btrfs:open_ctree");
        assert_eq!(
            Word::parse("f:error=5").unwrap().options.value,
            Some(Asked::Errno("5".to_owned()))
        );
    }

    #[test]
    fn what_a_word_does_not_say_comes_from_the_plain_options() {
        let plain =
            Options { rate: Some("1%".parse().unwrap()), times: Some(7), ..Options::default() };
        let both = Word::parse("f:rate=2%").unwrap().options.or(&plain);
        assert_eq!(both.rate, Some("2%".parse().unwrap()));
        assert_eq!(both.times, Some(7));
    }

    #[test]
    fn words_that_make_no_sense_are_refused() {
        for text in
            ["", "errno=EIO", "f:foo=1", "f:errno=EIO:x", "f:rate=2", "f:when=0", "f:times=0"]
        {
            assert!(Word::parse(text).is_err(), "{text}");
        }
    }
}
