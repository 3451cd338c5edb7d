//! What a person sees while a long step runs: a bar on a terminal, a plain line now and then elsewhere.

use std::env;
use std::io::{IsTerminal as _, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a step says that it is still alive where there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(30);

/// Steps shorter than this leave no line behind.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// True where somebody can watch a bar and answer a question.
pub fn interactive() -> bool {
    stderr().is_terminal() && env::var_os("CI").is_none_or(|ci| ci.is_empty())
}

pub struct Progress {
    label: String,
    total: Option<u64>,
    started: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// `total` is the expected number of units, where it is known.
    pub fn start(label: &str, total: Option<u64>) -> Self {
        let now = Instant::now();
        let bar = interactive().then(|| bar(label, total));
        Self { label: label.to_owned(), total, started: now, last_line: now, bar }
    }

    /// Shows that `done` units are finished and `detail` is what goes on now.
    pub fn show(&mut self, done: u64, detail: &str) {
        if let Some(bar) = &self.bar {
            match self.total {
                // An estimate that was too low must not look finished.
                Some(total) => bar.set_position(done.min(total.saturating_sub(1))),
                None => bar.set_message(detail.chars().take(60).collect::<String>()),
            }
        } else if self.last_line.elapsed() >= PLAIN_INTERVAL {
            self.last_line = Instant::now();
            eprintln!("{}", still_running(&self.label, self.started.elapsed(), done, self.total));
        }
    }

    /// Ends the step; one that took a while leaves a line with its time.
    pub fn finish(self) -> Duration {
        let took = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if took >= WORTH_A_LINE {
            eprintln!("{}: {}", self.label, duration(took));
        }
        took
    }

    /// Ends the step without a word: the caller reports what went wrong.
    pub fn abandon(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(label: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{prefix} [{bar:30}] {percent}% {elapsed}"),
        None => (ProgressBar::new_spinner(), "{spinner} {prefix} {elapsed} {msg:.dim}"),
    };
    let style = ProgressStyle::with_template(template).expect("the template is constant");
    // Now and then is enough, and kinder to slow connections.
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
    bar.set_style(style.progress_chars("=> ").tick_chars("|/-\\ "));
    bar.set_prefix(label.to_owned());
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn still_running(label: &str, elapsed: Duration, done: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total > 0 => {
            format!("{label}: {}, about {}%", duration(elapsed), (done * 100 / total).min(99))
        }
        _ => format!("{label}: {}", duration(elapsed)),
    }
}

/// `5 s`, `2 min 5 s`.
pub fn duration(time: Duration) -> String {
    // Rounded once, so that 59.9 s does not become "60 s".
    let seconds = (time.as_secs_f64()).round() as u64;
    match (seconds / 60, seconds % 60) {
        (0, s) => format!("{s} s"),
        (m, 0) => format!("{m} min"),
        (m, s) => format!("{m} min {s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_person_would_say_them() {
        assert_eq!(duration(Duration::from_millis(4600)), "5 s");
        assert_eq!(duration(Duration::from_millis(59_900)), "1 min");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 5 s");
    }

    #[test]
    fn a_step_that_outlives_its_estimate_stays_below_a_hundred() {
        let line = still_running("kernel", Duration::from_secs(30), 2500, Some(2000));
        assert_eq!(line, "kernel: 30 s, about 99%");
    }
}
