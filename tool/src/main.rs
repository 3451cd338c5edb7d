//! The command.

use std::process::ExitCode;

use clap::Parser as _;
use inject::{
    cli::{Cli, Verb},
    cmd,
    exit::Exit,
};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.verb {
        None => with_log(cli.run.verbose, || cmd::run(&cli.run)),
        Some(Verb::Run(run)) => with_log(run.verbose, || cmd::run(&run)),
        Some(Verb::List(list)) => with_log(list.verbose, || cmd::list(&list)),
        Some(Verb::Check(check)) => with_log(check.verbose, || cmd::check(&check)),
    };
    let exit = result.unwrap_or_else(|error| {
        for line in message(&error).lines() {
            eprintln!("inject: {line}");
        }
        Exit::Failure
    });
    exit.into()
}

/// The error and its causes, less what a message says of its cause already.
fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        match (text.is_empty(), text.contains(&cause)) {
            (true, _) => cause,
            (false, true) => text,
            (false, false) => format!("{text}: {cause}"),
        }
    })
}

fn with_log(verbose: u8, verb: impl FnOnce() -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    let level = match verbose {
        0 => log::LevelFilter::Off,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    env_logger::Builder::new().filter_level(level).format_timestamp(None).init();
    verb()
}

/// Help and version are answers, on stdout; everything else is one line on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing can be said about a stdout that is closed.
        let _ = error.print();
        return Exit::Success.into();
    }
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = line.strip_suffix(':').map_or_else(|| line.to_owned(), |line| missing(line, &text));
    eprintln!("inject: {line}; 'inject --help' shows what there is");
    Exit::Failure.into()
}

/// A line that ends in a colon goes on in the lines below it.
fn missing(line: &str, text: &str) -> String {
    let below: Vec<&str> =
        text.lines().skip(1).take_while(|line| line.starts_with("  ")).map(str::trim).collect();
    format!("{line}: {}", below.join(" "))
}
