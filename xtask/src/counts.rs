//! What test programs say at the end: `test result: ok. 3 passed; 0 failed; …`.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
}

impl Counts {
    /// The counts of one summary line, if it is one.
    pub fn of_line(line: &str) -> Option<Self> {
        let rest = line.trim().strip_prefix("test result: ")?;
        let mut counts = Self::default();
        let (mut passed, mut failed) = (false, false);
        for part in rest.split(['.', ';']) {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => (counts.passed, passed) = (count.parse().ok()?, true),
                Some((count, "failed")) => (counts.failed, failed) = (count.parse().ok()?, true),
                _ => {}
            }
        }
        (passed && failed).then_some(counts)
    }

    /// No test failed, and at least one ran.
    pub fn is_success(self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_lines_of_cargo_test_and_libtest_mimic_are_understood() {
        let cargo = "test result: FAILED. 11 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s";
        assert_eq!(Counts::of_line(cargo), Some(Counts { passed: 11, failed: 2 }));
        let mimic = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.10s";
        assert_eq!(Counts::of_line(mimic), Some(Counts { passed: 5, failed: 0 }));
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "test a ... ok",
            "test result: ok.",
            "test result: ok. x passed; 0 failed",
            "3 passed; 0 failed",
        ] {
            assert_eq!(Counts::of_line(line), None, "{line}");
        }
    }

    #[test]
    fn nothing_ran_is_no_success() {
        assert!(!Counts::default().is_success());
        assert!(Counts { passed: 1, failed: 0 }.is_success());
        assert!(!Counts { passed: 9, failed: 1 }.is_success());
    }
}
