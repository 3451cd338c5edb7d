//! Runs other programs: quietly into a log file with progress on the terminal, the log's tail on failure.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::progress::Progress;

/// How much of a log a failure shows.
const TAIL: usize = 30;

/// Runs `command` with both its streams appended to `log`.
pub fn run(label: &str, command: &mut Command, log: &Path) -> Result<()> {
    run_counted(label, command, log, None).map(drop)
}

/// Like [`run`], with a bar over `expected` lines of output. Returns how many lines there were.
pub fn run_counted(
    label: &str,
    command: &mut Command,
    log: &Path,
    expected: Option<u64>,
) -> Result<u64> {
    let out = OpenOptions::new().create(true).append(true).open(log);
    let out = out.with_context(|| format!("cannot write {}", log.display()))?;
    let mut watched = Watched::at_the_end_of(log)?;
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", name(command)))?;
    let mut progress = Progress::start(label, expected);
    let status = loop {
        let ended = child.try_wait()?;
        watched.read_on()?;
        if let Some(status) = ended {
            break status;
        }
        progress.show(watched.lines, &watched.last_line);
        thread::sleep(Duration::from_millis(30));
    };
    if !status.success() {
        progress.abandon();
        bail!(failure(label, command, status, log));
    }
    progress.finish();
    Ok(watched.lines)
}

/// Runs a short query and returns its standard output, trimmed.
pub fn output(command: &mut Command) -> Result<String> {
    let out = command.stdin(Stdio::null()).output();
    let out = out.with_context(|| format!("cannot start {}", name(command)))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        bail!("{} failed ({}): {}", name(command), out.status, stderr.trim());
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn name(command: &Command) -> String {
    command.get_program().display().to_string()
}

fn failure(label: &str, command: &Command, status: ExitStatus, log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let name = name(command);
    format!(
        "{label}: {name} failed ({status}); the end of {}:\n{}",
        log.display(),
        tail(&text, TAIL)
    )
}

/// The last `count` lines of `text`.
pub fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A log file that another process is writing.
struct Watched {
    file: File,
    lines: u64,
    last_line: String,
    partial: Vec<u8>,
}

impl Watched {
    fn at_the_end_of(log: &Path) -> Result<Self> {
        use std::io::{Seek as _, SeekFrom};
        let mut file = File::open(log)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, lines: 0, last_line: String::new(), partial: Vec::new() })
    }

    fn read_on(&mut self) -> Result<()> {
        self.file.read_to_end(&mut self.partial)?;
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            self.last_line = String::from_utf8_lossy(&line).trim().to_owned();
            self.lines += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_takes_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 5), "a");
        assert_eq!(tail("", 5), "");
    }

    #[test]
    fn both_streams_go_to_the_log_and_its_lines_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "earlier\n").unwrap();
        let mut command = Command::new("sh");
        let lines = run_counted("x", command.args(["-c", "echo out; echo err >&2"]), &log, None);
        assert_eq!(lines.unwrap(), 2);
        assert_eq!(fs::read_to_string(&log).unwrap(), "earlier\nout\nerr\n");
    }

    #[test]
    fn a_failure_shows_the_tail_and_the_path_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut command = Command::new("sh");
        let err = run("compile", command.args(["-c", "echo boom; exit 3"]), &log).unwrap_err();
        let text = err.to_string();
        assert!(text.contains("compile") && text.contains("exit status: 3"), "{text}");
        assert!(text.contains("boom") && text.contains(&log.display().to_string()), "{text}");
    }
}
