//! Which functions a user wants to see.

use anyhow::bail;
use wildmatch::WildMatch;

use super::{Function, Key};
use crate::{image::ErrorType, suggest};

/// Patterns and options of `list`.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// Names and globs, `sys:NAME` among them; all functions if there is none.
    pub patterns: Vec<String>,
    /// Only those that fail like that.
    pub error_type: Option<ErrorType>,
    /// Only those whose calls a static key guards.
    pub keyed: bool,
}

impl Keep {
    /// Drops the others. Fails if a pattern matches nothing, whatever the options say.
    pub fn apply(&self, functions: &mut Vec<Function>) -> anyhow::Result<()> {
        for pattern in &self.patterns {
            let glob = WildMatch::new(pattern);
            if !functions.iter().any(|function| matches(&glob, function)) {
                let names = functions.iter().flat_map(Function::names);
                let nearest = suggest::nearest(pattern, names);
                bail!(
                    "no injectable function is named '{pattern}'{}",
                    suggest::did_you_mean(&nearest)
                );
            }
        }
        let globs: Vec<_> = self.patterns.iter().map(|pattern| WildMatch::new(pattern)).collect();
        functions.retain(|function| {
            (globs.is_empty() || globs.iter().any(|glob| matches(glob, function)))
                && self.error_type.is_none_or(|wanted| wanted == function.error_type)
                && (!self.keyed || matches!(function.key, Key::Known { .. }))
        });
        Ok(())
    }
}

fn matches(glob: &WildMatch, function: &Function) -> bool {
    function.names().any(|name| glob.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, aliases: &[&str], error_type: ErrorType, key: Key) -> Function {
        Function {
            name: name.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            error_type,
            fmod_ret_only: false,
            module: None,
            key,
            calls: None,
            mechanism: None,
        }
    }

    fn kept(
        patterns: &[&str],
        error_type: Option<ErrorType>,
        keyed: bool,
    ) -> anyhow::Result<String> {
        let key = Key::Known { name: None, count: None, sites: None };
        let mut functions = vec![
            function("__do_sys_open", &["__x64_sys_open", "sys:open"], ErrorType::Errno, Key::None),
            function("should_failslab", &[], ErrorType::Errno, key),
            function("is_bad", &[], ErrorType::True, Key::Unknown),
        ];
        let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Keep { patterns, error_type, keyed }.apply(&mut functions)?;
        Ok(functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn patterns_match_every_name_and_options_narrow_them() {
        assert_eq!(kept(&[], None, false).unwrap(), "__do_sys_open should_failslab is_bad");
        assert_eq!(kept(&["sys:op*", "is_*"], None, false).unwrap(), "__do_sys_open is_bad");
        assert_eq!(kept(&["__x64_sys_open"], None, false).unwrap(), "__do_sys_open");
        assert_eq!(kept(&[], Some(ErrorType::True), false).unwrap(), "is_bad");
        assert_eq!(kept(&[], None, true).unwrap(), "should_failslab");
        assert_eq!(kept(&["is_*"], None, true).unwrap(), "");
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_an_error_with_the_nearest_name() {
        let error = kept(&["sys:opne"], None, false).unwrap_err().to_string();
        assert!(error.contains("'sys:opne'; did you mean sys:open"), "{error}");
    }
}
