//! What is wrong with a rule.

use thiserror::Error;

use crate::image::ErrorType;

/// Why text is no rule.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RuleError {
    #[error("'{text}' is not a rate; write it as 1%, 0.1%, 1/100, 50ppm or a fraction below 1")]
    NotARate { text: String },
    #[error("the rate {text} lies outside 0 % to 100 %")]
    RateOutOfRange { text: String },
    #[error(
        "the rate {text} can be read in two ways; write {text}% or {text}/100, or 100% for every call"
    )]
    AmbiguousRate { text: String },
    #[error(
        "'{text}' is neither the name of an error nor its number (1 to 4095); write ENOMEM or 12"
    )]
    NotAnErrno { text: String },
    #[error("'{text}' is not a value; write a number, such as -12, 0 or 0x10")]
    NotAValue { text: String },
    #[error(
        "{function} cannot return {value}: its error type is {error_type}, which means {legal}; \
         {instead}"
    )]
    IllegalValue {
        function: String,
        value: String,
        error_type: ErrorType,
        legal: &'static str,
        instead: &'static str,
    },
    #[error(
        "'{text}' does not say which calls; write FIRST, FIRST..LAST, FIRST+ or FIRST+STEP, \
         such as 3, 3..7 or 3+5"
    )]
    NotAWhen { text: String },
    #[error("'{text}' is not a number of calls; write one from 1 on")]
    NotATimes { text: String },
    #[error("'{word}' names no function; write FUNCTION or FUNCTION:OPTION=VALUE")]
    NoFunction { word: String },
    #[error(
        "'{option}' in '{word}' is no option; a function's word takes errno=, return=, rate=, when= \
         and times="
    )]
    UnknownOption { word: String, option: String },
    #[error(
        "{function}: which error shall it return? Say it with --errno, for instance --errno EIO"
    )]
    NoDefault { function: String },
}
