//! Running `inject` and others as a person would.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context as _, ensure};

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Fails, with everything that was printed, unless the status is that.
    pub fn expect_status(self, status: i32) -> anyhow::Result<Self> {
        ensure!(self.status == status, "status {} instead of {status}: {self:#?}", self.status);
        Ok(self)
    }

    /// Fails unless the one line on stderr contains all of these, and stdout is empty.
    pub fn expect_one_error(self, parts: &[&str]) -> anyhow::Result<()> {
        let ran = self.expect_status(125)?;
        ensure!(ran.stdout.is_empty(), "something on stdout: {ran:#?}");
        ensure!(ran.stderr.lines().count() == 1, "not one line: {ran:#?}");
        for part in parts {
            ensure!(ran.stderr.contains(part), "'{part}' is missing: {ran:#?}");
        }
        Ok(())
    }

    /// Fails unless stderr contains it.
    pub fn expect_stderr(self, part: &str) -> anyhow::Result<Self> {
        ensure!(self.stderr.contains(part), "'{part}' is missing on stderr: {self:#?}");
        Ok(self)
    }

    /// The number before a word on stderr, as in `12 injected`.
    pub fn number_before(&self, word: &str) -> anyhow::Result<u64> {
        let words: Vec<&str> = self.stderr.split_whitespace().collect();
        words
            .windows(2)
            .find(|pair| pair[1].trim_end_matches(',') == word)
            .and_then(|pair| pair[0].parse().ok())
            .with_context(|| format!("no number before '{word}': {self:#?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let status = output.status;
        Self {
            status: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// `inject` with these arguments, split as a shell splits words.
pub fn inject_command(arguments: &str) -> Command {
    let mut command = Command::new("/bin/inject");
    command.args(shlex::split(arguments).expect("quotes that match")).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn inject(arguments: &str) -> anyhow::Result<Ran> {
    Ok(inject_command(arguments).output().context("/bin/inject")?.into())
}

/// Runs a shell line to its end.
pub fn shell(line: &str) -> anyhow::Result<Ran> {
    Ok(Command::new("/bin/sh").args(["-c", line]).output().context("/bin/sh")?.into())
}

/// A process that is killed, and waited for, when the test is over.
#[derive(Debug)]
pub struct Background(pub Child);

impl Background {
    /// Starts `inject` in the background; what it prints is kept for `end`.
    pub fn inject(arguments: &str) -> anyhow::Result<Self> {
        let mut command = inject_command(arguments);
        Ok(Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// Starts a shell line in the background.
    pub fn shell(line: &str) -> anyhow::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null());
        Ok(Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// Sends a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) -> anyhow::Result<()> {
        Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.0.id() as i32), signal)?)
    }

    /// Waits for the end.
    pub fn end(mut self) -> anyhow::Result<Ran> {
        let mut ran = Ran { status: 0, stdout: String::new(), stderr: String::new() };
        let read = |pipe: Option<&mut dyn std::io::Read>, to: &mut String| {
            pipe.map_or(Ok(0), |pipe| pipe.read_to_string(to))
        };
        read(self.0.stdout.as_mut().map(|pipe| pipe as _), &mut ran.stdout)?;
        read(self.0.stderr.as_mut().map(|pipe| pipe as _), &mut ran.stderr)?;
        let status = self.0.wait()?;
        ran.status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(ran)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
