//! What a listed function may return when it fails.

use std::{fmt, str::FromStr};

/// The error type of an injectable function: which return values are legal failures.
///
/// The kernel's `EI_ETYPE_*` (`include/asm-generic/error-injection.h`); printed and parsed in the words of
/// `/sys/kernel/debug/error_injection/list` (`error_type_string()` in `lib/error-inject.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// A null pointer (`EI_ETYPE_NULL`, 1).
    Null,
    /// A negative errno (`EI_ETYPE_ERRNO`, 2).
    Errno,
    /// A negative errno or a null pointer (`EI_ETYPE_ERRNO_NULL`, 3).
    ErrnoNull,
    /// True, for functions that answer "did it fail?" (`EI_ETYPE_TRUE`, 4).
    True,
}

impl ErrorType {
    /// Every error type, in the kernel's numbering.
    pub const ALL: [Self; 4] = [Self::Null, Self::Errno, Self::ErrnoNull, Self::True];

    /// The error type that the kernel stores as `number`, if it is one.
    ///
    /// 0 is `EI_ETYPE_NONE`, which no entry may carry.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The kernel's number for this error type, 1 to 4.
    pub fn number(self) -> u32 {
        match self {
            Self::Null => 1,
            Self::Errno => 2,
            Self::ErrnoNull => 3,
            Self::True => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Errno => "ERRNO",
            Self::ErrnoNull => "ERRNO_NULL",
            Self::True => "TRUE",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no error type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no error type; the kernel's are NULL, ERRNO, ERRNO_NULL and TRUE")]
pub struct UnknownErrorType(pub String);

impl FromStr for ErrorType {
    type Err = UnknownErrorType;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.word() == word)
            .ok_or_else(|| UnknownErrorType(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_the_kernels() {
        let printed: Vec<_> =
            (0..6).filter_map(ErrorType::from_number).map(|kind| kind.to_string()).collect();
        assert_eq!(printed, ["NULL", "ERRNO", "ERRNO_NULL", "TRUE"]);
    }

    #[test]
    fn a_printed_word_reads_back_as_the_same_type() {
        for kind in ErrorType::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn another_word_is_refused_with_the_list() {
        let error = "errno".parse::<ErrorType>().unwrap_err();
        assert!(error.to_string().contains("ERRNO_NULL"), "{error}");
    }

    #[test]
    fn padding_in_a_format_is_honoured() {
        assert_eq!(format!("{:<10}|", ErrorType::True), "TRUE      |");
    }
}
