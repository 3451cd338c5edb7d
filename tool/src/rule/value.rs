//! What a function returns when it is made to fail, checked against its error type.

use std::fmt;

use super::{RuleError, errno};
use crate::image::ErrorType;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: the default.
    Default,
    /// `--errno`.
    Errno(String),
    /// `--return`.
    Return(String),
}

/// A legal failure of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    number: i64,
    is_default: bool,
}

impl Value {
    /// The value for a function: what was asked for, if it is legal, or the function's default.
    ///
    /// With `any`, a value that is no failure will do as well: the mechanism has the last word.
    pub fn choose(
        asked: &Asked,
        function: &str,
        error_type: ErrorType,
        any: bool,
    ) -> Result<Self, RuleError> {
        let number = match asked {
            Asked::Default => {
                let number = default(function, error_type)
                    .ok_or_else(|| RuleError::NoDefault { function: function.to_owned() })?;
                return Ok(Self { number, is_default: true });
            }
            Asked::Errno(text) => {
                -errno::parse(text).ok_or_else(|| RuleError::NotAnErrno { text: text.clone() })?
            }
            Asked::Return(text) => {
                parse_number(text).ok_or_else(|| RuleError::NotAValue { text: text.clone() })?
            }
        };
        let value = Self { number, is_default: false };
        if any || is_legal(number, error_type) {
            return Ok(value);
        }
        let (legal, instead) = advice(error_type);
        Err(RuleError::IllegalValue {
            function: function.to_owned(),
            value: value.to_string(),
            error_type,
            legal,
            instead,
        })
    }

    /// As the function returns it, sign-extended.
    pub fn number(self) -> i64 {
        self.number
    }

    /// Whether nobody asked for it.
    pub fn is_default(self) -> bool {
        self.is_default
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = i32::try_from(-self.number).ok().and_then(errno::name);
        match name {
            Some(name) => f.write_str(&name),
            None => write!(f, "{}", self.number),
        }
    }
}

fn is_errno(number: i64) -> bool {
    (-4095..=-1).contains(&number)
}

fn is_legal(number: i64, error_type: ErrorType) -> bool {
    match error_type {
        ErrorType::Null => number == 0,
        ErrorType::Errno => is_errno(number),
        ErrorType::ErrnoNull => number == 0 || is_errno(number),
        ErrorType::True => number == 1,
    }
}

fn advice(error_type: ErrorType) -> (&'static str, &'static str) {
    match error_type {
        ErrorType::Null => ("a null pointer", "leave out --errno and --return"),
        ErrorType::Errno => ("a negative error number", "use --errno, for instance --errno EIO"),
        ErrorType::ErrnoNull => {
            ("a negative error number or a null pointer", "use --errno NAME or --return 0")
        }
        ErrorType::True => ("true", "leave out --errno and --return"),
    }
}

fn default(function: &str, error_type: ErrorType) -> Option<i64> {
    match error_type {
        ErrorType::Null => Some(0),
        ErrorType::True => Some(1),
        ErrorType::Errno | ErrorType::ErrnoNull => {
            usual_errno(function).map(|errno| -i64::from(errno))
        }
    }
}

/// What a function of that name fails with in ordinary life, where that is one thing.
fn usual_errno(function: &str) -> Option<i32> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| function.starts_with(prefix));
    if function == "should_failslab" || starts(SYSTEM_CALLS) {
        Some(libc::ENOMEM)
    } else if function == "should_fail_bio" || function == "open_ctree" || starts(FILE_SYSTEMS) {
        Some(libc::EIO)
    } else if function.starts_with("security_") {
        Some(libc::EPERM)
    } else {
        None
    }
}

/// How architectures spell system calls (`SYSCALL_DEFINE` in their syscall_wrapper.h).
const SYSTEM_CALLS: &[&str] =
    &["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "sys_"];

/// File systems and block drivers that mark functions as injectable.
const FILE_SYSTEMS: &[&str] =
    &["btrfs_", "__btrfs_", "ext4_", "f2fs_", "xfs_", "nvme_", "scsi_", "zonefs_"];

fn parse_number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    (magnitude >= 0).then_some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(asked: Asked, error_type: ErrorType) -> Result<i64, RuleError> {
        Value::choose(&asked, "f", error_type, false).map(Value::number)
    }

    fn errno(name: &str) -> Asked {
        Asked::Errno(name.to_owned())
    }

    fn returns(value: &str) -> Asked {
        Asked::Return(value.to_owned())
    }

    #[test]
    fn each_error_type_takes_its_own_failures_only() {
        use ErrorType::{Errno, ErrnoNull, Null, True};
        let legal = [
            (errno("EIO"), Errno, -5),
            (returns("-5"), Errno, -5),
            (errno("EIO"), ErrnoNull, -5),
            (returns("0"), ErrnoNull, 0),
            (returns("0"), Null, 0),
            (returns("1"), True, 1),
            (returns("0x1"), True, 1),
        ];
        for (asked, error_type, number) in legal {
            assert_eq!(choose(asked, error_type), Ok(number));
        }
        let illegal = [
            (returns("0"), Errno),
            (returns("5"), Errno),
            (returns("-4096"), Errno),
            (errno("EIO"), Null),
            (errno("EIO"), True),
            (returns("0"), True),
            (returns("7"), ErrnoNull),
        ];
        for (asked, error_type) in illegal {
            let error = choose(asked.clone(), error_type).unwrap_err();
            assert!(matches!(error, RuleError::IllegalValue { .. }), "{asked:?} {error_type}");
        }
    }

    #[test]
    fn defaults_exist_where_one_failure_is_the_usual_one() {
        let default = |function, error_type| {
            Value::choose(&Asked::Default, function, error_type, false).map(Value::number)
        };
        assert_eq!(default("should_failslab", ErrorType::Errno), Ok(-12));
        assert_eq!(default("__x64_sys_mount", ErrorType::Errno), Ok(-12));
        assert_eq!(default("should_fail_alloc_page", ErrorType::True), Ok(1));
        assert_eq!(default("f", ErrorType::Null), Ok(0));
        assert_eq!(default("open_ctree", ErrorType::Errno), Ok(-5));
        assert_eq!(default("security_file_permission", ErrorType::Errno), Ok(-1));
        assert!(default("kvm_make_request", ErrorType::Errno).is_err());
    }

    #[test]
    fn any_value_will_do_if_the_user_insists() {
        let any = |asked| Value::choose(&asked, "f", ErrorType::Errno, true).map(Value::number);
        assert_eq!(any(returns("0")), Ok(0));
        assert_eq!(any(returns("77")), Ok(77));
        assert!(any(returns("x")).is_err());
    }

    #[test]
    fn words_that_are_no_values_are_refused() {
        assert!(choose(errno("ENOSUCH"), ErrorType::Errno).is_err());
        for text in ["", "x", "--5", "0x", "9223372036854775808"] {
            let error = choose(returns(text), ErrorType::Errno).unwrap_err();
            assert!(matches!(error, RuleError::NotAValue { .. }), "{text}");
        }
    }

    #[test]
    fn values_are_printed_by_name() {
        let value = Value::choose(&errno("12"), "f", ErrorType::Errno, false).unwrap();
        assert_eq!(value.to_string(), "ENOMEM");
        let value = Value::choose(&returns("1"), "f", ErrorType::True, false).unwrap();
        assert_eq!(value.to_string(), "1");
    }
}
