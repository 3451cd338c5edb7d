//! Names of errors.

use nix::errno::Errno;

/// `MAX_ERRNO` of include/linux/err.h.
const MAX: i64 = 4095;
/// The highest number that include/uapi/asm-generic/errno.h names.
const LAST_NAMED: i32 = 133;

/// The number of an error, from its name in any case or from a number with or without a minus. 1 to 4095.
pub fn parse(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<i64>() {
        let number = number.checked_abs()?;
        return (1..=MAX).contains(&number).then_some(number);
    }
    let wanted = text.to_ascii_uppercase();
    match wanted.as_str() {
        "EWOULDBLOCK" => return parse("EAGAIN"),
        "EDEADLOCK" => return parse("EDEADLK"),
        "ENOTSUP" => return parse("EOPNOTSUPP"),
        _ => {}
    }
    (1..=LAST_NAMED).find(|number| name(*number).as_deref() == Some(&wanted)).map(i64::from)
}

/// The name of a number that has one.
pub fn name(number: i32) -> Option<String> {
    match Errno::from_raw(number) {
        Errno::UnknownErrno => None,
        known => Some(format!("{known:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_mean_the_same() {
        for text in ["ENOMEM", "enomem", "12", "-12"] {
            assert_eq!(parse(text), Some(12), "{text}");
        }
        assert_eq!(parse("EWOULDBLOCK"), Some(11));
        assert_eq!(parse("EHWPOISON"), Some(133));
        assert_eq!(parse("4095"), Some(4095));
        assert_eq!(name(5).as_deref(), Some("EIO"));
    }

    #[test]
    fn what_is_no_error_is_refused() {
        for text in ["", "0", "4096", "ENOSUCH", "UNKNOWNERRNO", "1.5", "-9223372036854775808"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
