//! Rates: which share of calls fails.

use std::{fmt, str::FromStr};

use inject_common::map::CERTAIN;

use super::RuleError;

/// A probability, kept as the threshold that 32 random bits are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    threshold: u64,
}

impl Rate {
    /// Every call.
    pub const ALWAYS: Self = Self { threshold: CERTAIN };

    /// One call in ten: the most that a rule without a scope may fail without a word of consent.
    pub const TENTH: Self = Self { threshold: CERTAIN.div_ceil(10) };

    /// 0 to [`CERTAIN`].
    pub fn threshold(self) -> u64 {
        self.threshold
    }

    /// 0 to 1.
    pub fn probability(self) -> f64 {
        self.threshold as f64 / CERTAIN as f64
    }
}

impl FromStr for Rate {
    type Err = RuleError;

    /// `1%`, `0.1%`, `1/100`, `50ppm`, or a fraction below 1 such as `0.01`.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let not_a_rate = || RuleError::NotARate { text: text.to_owned() };
        let number = |text: &str| {
            let digits = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
            text.parse::<f64>().ok().filter(|number| digits && number.is_finite())
        };
        let compact = text.trim();
        let probability = if let Some(percent) = compact.strip_suffix('%') {
            number(percent.trim_end()).ok_or_else(not_a_rate)? / 100.0
        } else if let Some(millionths) = compact.strip_suffix("ppm") {
            number(millionths.trim_end()).ok_or_else(not_a_rate)? / 1e6
        } else if let Some((of, whole)) = compact.split_once('/') {
            let whole = number(whole).filter(|whole| *whole > 0.0).ok_or_else(not_a_rate)?;
            number(of).ok_or_else(not_a_rate)? / whole
        } else {
            let fraction = number(compact).ok_or_else(not_a_rate)?;
            if (1.0..=100.0).contains(&fraction) {
                return Err(RuleError::AmbiguousRate { text: compact.to_owned() });
            }
            fraction
        };
        if !(0.0..=1.0).contains(&probability) {
            return Err(RuleError::RateOutOfRange { text: text.to_owned() });
        }
        Ok(Self { threshold: (probability * CERTAIN as f64).round() as u64 })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&percent(self.probability()))
    }
}

/// A share of 1 as a percentage, with three digits that mean something.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    let decimals = (2 - percent.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{percent:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(text: &str) -> f64 {
        text.parse::<Rate>().unwrap().probability()
    }

    #[test]
    fn every_way_of_writing_one_per_cent_is_the_same_rate() {
        let rate: Rate = "1%".parse().unwrap();
        for text in ["1 %", "1/100", "10000ppm", "0.01", ".01", "1.0%"] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
        }
        assert!((rate.probability() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        assert_eq!("0".parse::<Rate>().unwrap().threshold(), 0);
        assert_eq!("0%".parse::<Rate>().unwrap().threshold(), 0);
        assert_eq!("100%".parse(), Ok(Rate::ALWAYS));
        assert_eq!("1/1".parse(), Ok(Rate::ALWAYS));
        assert!((probability("1ppm") - 1e-6).abs() < 1e-9);
        assert!(probability("99.9999%") < 1.0);
    }

    #[test]
    fn rates_compare_as_they_are_written() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        assert_eq!(rate("10%"), Rate::TENTH);
        assert!(rate("10.001%") > Rate::TENTH && rate("9.999%") < Rate::TENTH);
    }

    #[test]
    fn a_bare_one_could_mean_two_things() {
        for text in ["1", "1.0", "5", "100"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(matches!(error, RuleError::AmbiguousRate { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn rates_outside_the_range_are_refused() {
        for text in ["-1%", "100.1%", "3/2", "2000000ppm", "101", "-0.5"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(matches!(error, RuleError::RateOutOfRange { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "%", "x", "1/0", "1/", "/2", "nan", "inf%", "1e-3", "1 1%", "--1%"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(matches!(error, RuleError::NotARate { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn rates_are_printed_short() {
        for (text, printed) in [
            ("1%", "1 %"),
            ("0.1%", "0.1 %"),
            ("100%", "100 %"),
            ("1/3", "33.3 %"),
            ("1ppm", "0.0001 %"),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), printed);
        }
    }
}
