//! `cargo xtask vm-test`: the tests that need a real kernel, in the guest.

use std::env;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::counts::Counts;
use crate::kernel::list::{Skip, Spec};
use crate::paths::Paths;
use crate::progress::duration;
use crate::vm::{Guest, Job};

/// Far above what a run takes, far below the time that CI has.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Which tests, and how the kernel is booted.
pub struct Selection<'a> {
    /// Parts of names; none for all.
    pub filters: &'a [String],
    pub kaslr: bool,
    /// Words for the kernel's command line.
    pub append: &'a [String],
}

/// Runs them on one kernel, or on all.
pub fn run(paths: &Paths, kernel: &str, selection: &Selection<'_>) -> Result<Counts> {
    let kernels = match kernel {
        "all" => Spec::tested(paths)?,
        one => vec![one.to_owned()],
    };
    let mut sum = Counts::default();
    for kernel in kernels {
        sum += run_in(&Guest::prepare(paths, &kernel)?, selection)?;
    }
    Ok(sum)
}

/// Boots once and runs the tests. A kernel that complains counts as one failed test more; so does one that crashes.
pub fn run_in(guest: &Guest<'_>, selection: &Selection<'_>) -> Result<Counts> {
    let spec = &guest.kernel.spec;
    for Skip { test, reason } in &spec.skip {
        println!("skipped on {}: {test}: {reason}", spec.name);
    }
    let script = script(&spec.name, selection.filters, &spec.skip)?;
    let name = if selection.kaslr { "test" } else { "test-nokaslr" };
    let Selection { filters, kaslr, append } = *selection;
    let job = Job { name, script: &script, kaslr, append, limit: LIMIT };
    let mut summary = Summary { is_selection: !filters.is_empty(), ..Summary::default() };
    let outcome = guest.run(&job, |line| {
        println!("{line}");
        summary.read(line);
    });
    let failure = match outcome {
        Ok(outcome) => {
            eprintln!("VM tests: {}", duration(outcome.took));
            summary.judge(outcome.status, outcome.complaints)
        }
        Err(err) => Some(format!("{err:#}")),
    };
    if let Some(text) = failure {
        println!("the VM run failed: {text}");
        summary.counts.failed += 1;
    }
    Ok(summary.counts)
}

/// The number before a word in a summary line.
fn number_of(line: &str, word: &str) -> Option<u64> {
    line.split(';').find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
}

/// What the job printed about itself.
#[derive(Default)]
struct Summary {
    counts: Counts,
    seen: bool,
    /// Tests that did not run, though no skip of the kernel's covers them.
    left_out: u64,
    /// Only some were asked for.
    is_selection: bool,
}

impl Summary {
    fn read(&mut self, line: &str) {
        if let Some(counts) = Counts::of_line(line) {
            self.counts += counts;
            self.seen = true;
            let filtered = if self.is_selection { None } else { number_of(line, "filtered out") };
            self.left_out += number_of(line, "ignored").unwrap_or(0) + filtered.unwrap_or(0);
        }
    }

    /// What went wrong beyond tests that failed and are counted already.
    fn judge(&self, status: i32, complaints: Option<String>) -> Option<String> {
        if complaints.is_some() {
            return complaints;
        }
        match status {
            _ if !self.seen => {
                Some(format!("inject-tests ended with status {status} and without a summary"))
            }
            _ if self.left_out > 0 => Some(format!(
                "{} tests did not run, for no reason that vm/kernels.toml gives",
                self.left_out
            )),
            _ if self.counts == Counts::default() => {
                Some("no test ran: none has such a name".into())
            }
            0 => None,
            _ if self.counts.failed > 0 => None,
            _ => Some(format!("inject-tests ended with status {status} though no test failed")),
        }
    }
}

/// What is passed on to the tests from the caller's environment: how much, and which random numbers.
const SETTINGS: [&str; 3] = ["INJECT_OPERATIONS", "INJECT_FUZZ_CALLS", "INJECT_SEED"];

fn script(kernel: &str, filters: &[String], skip: &[Skip]) -> Result<String> {
    let mut words = vec!["exec", "/bin/inject-tests", "--test-threads=1", "--color=never"];
    words.extend(filters.iter().map(String::as_str));
    let command = shlex::try_join(words).context("a filter holds a NUL byte")?;
    let mut settings = vec![("INJECT_KERNEL", kernel.to_owned())];
    settings.extend(SETTINGS.iter().filter_map(|name| Some((*name, env::var(name).ok()?))));
    let skip: Vec<&str> = skip.iter().map(|skip| skip.test.as_str()).collect();
    settings.push(("INJECT_SKIP", skip.join(" ")));
    let mut script = "#!/bin/sh\nexport RUST_BACKTRACE=1\n".to_owned();
    for (name, value) in settings {
        writeln!(script, "export {name}={}", shlex::try_quote(&value)?)?;
    }
    writeln!(script, "{command}")?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    const FAILED: &str =
        "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";

    fn summary(lines: &[&str]) -> Summary {
        let mut summary = Summary::default();
        lines.iter().for_each(|line| summary.read(line));
        summary
    }

    #[test]
    fn a_clean_run_and_a_counted_failure_need_no_words() {
        assert_eq!(summary(&["test a ... ok", OK]).judge(0, None), None);
        assert_eq!(summary(&[FAILED]).judge(101, None), None);
    }

    #[test]
    fn a_test_that_did_not_run_needs_a_reason() {
        let ignored = OK.replace("0 ignored", "1 ignored");
        assert!(summary(&[&ignored]).judge(0, None).is_some());
        let filtered = OK.replace("0 filtered out", "2 filtered out");
        assert!(summary(&[&filtered]).judge(0, None).is_some());
        let mut asked_for = Summary { is_selection: true, ..Summary::default() };
        asked_for.read(&filtered);
        assert_eq!(asked_for.judge(0, None), None);
    }

    #[test]
    fn a_run_without_a_test_fails() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
        assert!(summary(&[none]).judge(0, None).is_some());
    }

    #[test]
    fn a_missing_summary_a_bad_status_and_a_kernel_that_complains_fail() {
        let cut_off = summary(&["test a ... ok"]).judge(0, None).unwrap();
        assert!(cut_off.contains("without a summary"), "{cut_off}");
        assert!(summary(&[OK]).judge(101, None).is_some());
        assert!(summary(&[OK]).judge(0, Some("WARNING: x".into())).is_some());
    }

    #[test]
    fn words_reach_the_tests_whole() {
        let skip = [Skip { test: "clones".into(), reason: "none here".into() }];
        let text = script("6.1-keyed", &["two words".to_owned()], &skip).unwrap();
        assert!(text.contains("INJECT_KERNEL=6.1-keyed"), "{text}");
        assert!(text.contains("INJECT_SKIP=clones\n"), "{text}");
        assert!(text.ends_with(" 'two words'\n"), "{text}");
    }
}
