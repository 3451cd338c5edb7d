//! What stands against a plan.

use thiserror::Error;

use crate::{rule::RuleError, suggest};

/// Why a function cannot be made to fail as asked.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error("unknown function '{word}'{}", suggest::did_you_mean(nearest))]
    Unknown { word: String, nearest: Vec<String> },
    #[error(
        "{name} exists, but is not injectable: it is not in the kernel's error injection list{}; \
         'inject list' shows what is",
        suggest::did_you_mean(nearest)
    )]
    NotInjectable { name: String, nearest: Vec<String> },
    #[error(
        "{name} cannot be made to fail: this kernel was built without CONFIG_FUNCTION_ERROR_INJECTION, \
         so only system calls (sys:NAME) and LSM hooks (security_NAME) can; 'inject list' shows them"
    )]
    NoList { name: String },
    #[error("{name} returns nothing, so it cannot be made to fail")]
    ReturnsNothing { name: String },
    #[error(
        "{name} stands more than once in this kernel's symbols, and which one is meant cannot be told"
    )]
    Ambiguous { name: String },
    #[error("'{pattern}' matches no injectable function; 'inject list' shows what there is")]
    NoMatch { pattern: String },
    #[error("none of the functions that '{pattern}' matches can be hooked; name one to learn why")]
    NothingLeft { pattern: String },
    #[error(
        "{name} has more rules than fit ({}); leave some out",
        inject_common::map::MAX_RULES_PER_FUNCTION
    )]
    TooManyRules { name: String },
    #[error("{name}: more --when than fit ({}); leave some out", inject_common::map::MAX_WHEN)]
    TooManyWhens { name: String },
    #[error("{name}: no mechanism works: {}", reasons.join("; "))]
    NoMechanism { name: String, reasons: Vec<String> },
    #[error(transparent)]
    Rule(#[from] RuleError),
}
