//! The command line: words and options, no action.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{image::ErrorType, plan::Mechanism, rule::Rate};

/// The verbs, for suggestions.
pub const VERBS: [&str; 3] = ["run", "list", "help"];

/// Make kernel functions fail on purpose.
///
/// The first word is a verb or a function: `inject FUNCTION…` is short for `inject run FUNCTION…`, which also takes
/// functions that are named like verbs.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "inject FUNCTION… [OPTIONS] [-- COMMAND…]\n       inject list [PATTERN…] [OPTIONS]",
    after_help = EXAMPLES
)]
pub struct Cli {
    /// A verb; without one, `run`.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// Of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  inject should_failslab --rate 1% -- make check   fail slab allocations of a command
  inject sys:mount --errno EIO --duration 10s      fail every mount(2) but inject's own
  inject list 'should_*'                           what can fail, and how

Exit status: COMMAND's own (126 or 127 if it cannot be run), 0 without COMMAND,
123 if a function was never called in scope, 125 if inject itself failed.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make functions fail, for a command, for a time, or until Ctrl-C
    Run(RunArgs),
    /// Show which functions can be made to fail
    List(ListArgs),
}

/// Options of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Functions to make fail; sys:NAME is the system call NAME
    #[arg(value_name = "FUNCTION", required = true)]
    pub functions: Vec<String>,

    /// Which share of the calls fails: 1%, 1/100, 50ppm, 0.01 [default: every call]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<Rate>,

    /// What the functions return: the name or number of an error
    #[arg(long, value_name = "NAME", conflicts_with = "value", allow_hyphen_values = true)]
    pub errno: Option<String>,

    /// What the functions return, as a number
    #[arg(long = "return", value_name = "VALUE", id = "value", allow_hyphen_values = true)]
    pub value: Option<String>,

    /// How programs get on the functions
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub method: Method,

    /// Stop injecting after this time, such as 500ms, 60s or 2m
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// The running kernel's vmlinux, as a second witness for static keys
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Allow more than 10 % of the calls to fail in the whole system
    #[arg(long)]
    pub allow_system_wide: bool,

    /// Do not end with status 123 when a function was never called in scope
    #[arg(long)]
    pub allow_unused: bool,

    /// Also fail allocations that must not fail: the kernel may crash
    #[arg(long)]
    pub unsafe_nofail: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Say more; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Run this under injection; only it and its descendants are hit
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

/// Options of `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Names or quoted globs, such as 'should_*' and 'sys:open*'; all without
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,

    /// Only functions that fail like that: null, errno, errno_null, true
    #[arg(long = "type", value_name = "TYPE", value_parser = error_type)]
    pub error_type: Option<ErrorType>,

    /// Only functions whose calls a static key guards
    #[arg(long)]
    pub keyed: bool,

    /// Read this vmlinux, vmlinuz or module (.ko) instead of the running kernel
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Print JSON, with every caller; docs/json.md describes it
    #[arg(long)]
    pub json: bool,

    /// Say more; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

fn error_type(word: &str) -> Result<ErrorType, crate::image::UnknownErrorType> {
    word.to_ascii_uppercase().parse()
}

/// `--method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// The best that works
    Auto,
    /// One link over all functions
    KprobeMulti,
    /// A trampoline a function
    FmodRet,
}

impl Method {
    /// None: free choice.
    pub fn forced(self) -> Option<Mechanism> {
        match self {
            Self::Auto => None,
            Self::KprobeMulti => Some(Mechanism::KprobeMulti),
            Self::FmodRet => Some(Mechanism::FmodRet),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Cli {
        Cli::try_parse_from(line.split(' ')).unwrap()
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_can_be_suggested() {
        for verb in Cli::command().get_subcommands() {
            assert!(VERBS.contains(&verb.get_name()), "{}", verb.get_name());
        }
    }

    #[test]
    fn a_function_needs_no_verb_and_options_may_stand_anywhere() {
        for line in [
            "inject should_failslab --rate 1% -- sh -c true",
            "inject --rate 1% should_failslab -- sh -c true",
            "inject run --rate 1% should_failslab -- sh -c true",
        ] {
            let cli = parse(line);
            let run = match cli.verb {
                Some(Verb::Run(run)) => run,
                None => cli.run,
                Some(Verb::List(_)) => panic!("{line}"),
            };
            assert_eq!(run.functions, ["should_failslab"], "{line}");
            assert!(run.rate.is_some(), "{line}");
            assert_eq!(run.command, ["sh", "-c", "true"], "{line}");
        }
    }

    #[test]
    fn run_takes_functions_that_are_named_like_verbs() {
        let Some(Verb::Run(run)) = parse("inject run list").verb else { panic!() };
        assert_eq!(run.functions, ["list"]);
    }

    #[test]
    fn nothing_at_all_is_an_error() {
        assert!(Cli::try_parse_from(["inject"]).is_err());
        assert!(Cli::try_parse_from(["inject", "run"]).is_err());
        assert!(Cli::try_parse_from(["inject", "f", "--errno", "EIO", "--return", "1"]).is_err());
    }
}
