//! The command line: words and options, no action.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{
    image::ErrorType,
    plan::Mechanism,
    rule::{Rate, When, parse_times},
};

/// The verbs, for suggestions.
pub const VERBS: [&str; 4] = ["run", "list", "check", "help"];

/// Make kernel functions fail on purpose.
///
/// The first word is a verb or a function: `inject FUNCTION…` is short for `inject run FUNCTION…`, which also takes
/// functions that are named like verbs.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "inject FUNCTION… [OPTIONS] [-- COMMAND…]\n       inject list [PATTERN…] [OPTIONS]\n       inject check [FUNCTION…] [OPTIONS]",
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
  inject sys:mount:errno=EIO:when=2 -- ./script    fail the second mount(2) of a script
  inject list 'should_*'                           what can fail, who calls it, and how
  inject check should_failslab --try               can a fault arrive? if not, why

Exit status: COMMAND's own (126 or 127 if it cannot be run), 0 without COMMAND,
123 if the run did not do what was asked (a function was never called in scope,
or less failed than expected) or check finds that no fault can arrive, 125 if inject itself failed.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make functions fail, for a command, for a time, or until Ctrl-C
    Run(Box<RunArgs>),
    /// Show which functions can be made to fail
    List(ListArgs),
    /// Tell whether a fault can arrive, and if not, why and what to do
    Check(CheckArgs),
}

/// Options of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Functions to make fail: names or quoted globs; sys:NAME is the system call NAME, MODULE:NAME a module's function.
    /// What differs from the options below goes behind: FUNCTION:errno=EIO:rate=1%:when=3:times=2
    #[arg(value_name = "FUNCTION", required = true)]
    pub functions: Vec<String>,

    /// Leave out what this glob matches
    #[arg(long, value_name = "GLOB", help_heading = WHAT)]
    pub exclude: Vec<String>,

    /// What the functions return: the name or number of an error
    #[arg(long, value_name = "NAME", conflicts_with = "value", allow_hyphen_values = true, help_heading = WHAT)]
    pub errno: Option<String>,

    /// What the functions return, as a number
    #[arg(long = "return", value_name = "VALUE", id = "value", allow_hyphen_values = true, help_heading = WHAT)]
    pub value: Option<String>,

    /// Also take a value that is no failure of the function
    #[arg(long, help_heading = WHAT)]
    pub allow_value: bool,

    /// How programs get on the functions
    #[arg(long, value_enum, default_value_t = Method::Auto, help_heading = WHAT)]
    pub method: Method,

    /// Which share of the calls fails: 1%, 1/100, 50ppm, 0.01 [default: every call]; with 0, show which calls there are
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = WHEN)]
    pub rate: Option<Rate>,

    /// Only these calls, by number: FIRST, FIRST..LAST, FIRST+ or FIRST+STEP; may be repeated
    #[arg(long, value_name = "CALLS", help_heading = WHEN)]
    pub when: Vec<When>,

    /// Fail at most this many calls
    #[arg(long, value_name = "N", value_parser = parse_times, help_heading = WHEN)]
    pub times: Option<u64>,

    /// Repeat the choices of an earlier run [default: a new one, printed]
    #[arg(long, value_name = "N", help_heading = WHEN)]
    pub seed: Option<u64>,

    /// Number the calls of all in scope together, or each task's for themselves
    #[arg(long, value_enum, default_value_t = CountPer::All, help_heading = WHEN)]
    pub count_per: CountPer,

    /// Stop injecting after this time, such as 500ms, 60s or 2m
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = WHEN)]
    pub duration: Option<Duration>,

    /// Hit this process; may be repeated
    #[arg(long, value_name = "PID", help_heading = WHOM)]
    pub pid: Vec<u32>,

    /// With --pid: its descendants too
    #[arg(long, requires = "pid", help_heading = WHOM)]
    pub descendants: bool,

    /// Hit tasks of exactly this name (15 bytes at most)
    #[arg(long, value_name = "NAME", value_parser = parse_comm, help_heading = WHOM)]
    pub comm: Option<[u8; 16]>,

    /// Hit tasks of this user, by number
    #[arg(long, value_name = "UID", help_heading = WHOM)]
    pub uid: Option<u32>,

    /// Hit tasks in this control group, or below it
    #[arg(long, value_name = "PATH", help_heading = WHOM)]
    pub cgroup: Option<PathBuf>,

    /// Hit kernel threads too
    #[arg(long, help_heading = WHOM)]
    pub kthreads: bool,

    /// Hit calls in interrupts too
    #[arg(long, help_heading = WHOM)]
    pub irq: bool,

    /// Run COMMAND as this user
    #[arg(long, value_name = "NAME", requires = "command", help_heading = WHOM)]
    pub user: Option<String>,

    /// Allow more than 10 % of the calls to fail in the whole system
    #[arg(long, help_heading = WHOM)]
    pub allow_system_wide: bool,

    /// Also fail allocations that must not fail: the kernel may crash
    #[arg(long, help_heading = WHOM)]
    pub unsafe_nofail: bool,

    /// Report each injection, with its kernel stack
    #[arg(long, help_heading = REPORT)]
    pub trace: bool,

    /// Write trace and summary to this file instead of stderr
    #[arg(short, long, value_name = "FILE", help_heading = REPORT)]
    pub output: Option<PathBuf>,

    /// One JSON object a line, as docs/json.md describes
    #[arg(long, help_heading = REPORT)]
    pub json: bool,

    /// End with status 123 if fewer calls than this were made to fail
    #[arg(long, value_name = "N", help_heading = REPORT)]
    pub expect: Option<u64>,

    /// Do not end with status 123 when a function was never called in scope
    #[arg(long, help_heading = REPORT)]
    pub allow_unused: bool,

    /// End with status 123 if the kernel warned meanwhile
    #[arg(long, help_heading = REPORT)]
    pub fail_on_warning: bool,

    /// Say what would be done, and do nothing
    #[arg(long, help_heading = REPORT)]
    pub dry_run: bool,

    /// The running kernel's vmlinux, as a second witness for static keys
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Say more; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Run this under injection; only it and its descendants are hit
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

const WHAT: &str = "What fails";
const WHEN: &str = "Which calls fail";
const WHOM: &str = "Who is hit";
const REPORT: &str = "What is reported";

/// The kernel keeps 15 bytes of a task's name (`TASK_COMM_LEN`).
fn parse_comm(text: &str) -> Result<[u8; 16], String> {
    let mut comm = [0; 16];
    if text.is_empty() || text.len() > 15 {
        return Err("a task's name has 1 to 15 bytes".to_owned());
    }
    comm[..text.len()].copy_from_slice(text.as_bytes());
    Ok(comm)
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

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Functions or quoted globs; sys:NAME is the system call NAME; the machine alone without
    #[arg(value_name = "FUNCTION")]
    pub functions: Vec<String>,

    /// Fail a harmless system call of this process, to prove that a value arrives
    #[arg(long = "try")]
    pub try_it: bool,

    /// Print JSON; docs/json.md describes it
    #[arg(long)]
    pub json: bool,

    /// Say more; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

fn error_type(word: &str) -> Result<ErrorType, crate::image::UnknownErrorType> {
    word.to_ascii_uppercase().parse()
}

/// `--count-per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CountPer {
    /// All calls in scope together
    All,
    /// Each task's calls for themselves
    Task,
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
                Some(Verb::Run(run)) => *run,
                None => cli.run,
                Some(Verb::List(_) | Verb::Check(_)) => panic!("{line}"),
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
