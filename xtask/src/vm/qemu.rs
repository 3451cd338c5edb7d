//! One run of QEMU: started so that it dies with us, watched against a wall clock, its output passed on line by line.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::args::{Machine, Terminal, args};

pub const PROGRAM: &str = "qemu-system-x86_64";

/// How often a wait without a limit wakes up for nothing.
const A_WHILE: Duration = Duration::from_secs(3600);

/// How QEMU itself ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself; whether the guest did what it should is another question.
    Ended,
    /// It ran into the limit and was killed.
    TimedOut,
}

/// Kills QEMU when it goes out of scope, whatever the reason.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs until the guest ends or `limit` is over. `on_line` gets each line of what the job prints.
pub fn run(
    machine: &Machine<'_>,
    limit: Option<Duration>,
    mut on_line: impl FnMut(&str),
) -> Result<Exit> {
    let mut qemu = Guard(command(machine)?.spawn().context("cannot start QEMU")?);
    let mut deadline = limit.map(|limit| Instant::now() + limit);
    let mut exit = Exit::Ended;
    let lines = read_lines(&mut qemu.0);
    loop {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            exit = Exit::TimedOut;
            deadline = None;
            // The pipe still holds the line that the job was in the middle of: it says where it hangs.
            qemu.0.kill()?;
        }
        let wait = deadline.map_or(A_WHILE, |deadline| deadline - now);
        match lines.recv_timeout(wait) {
            Ok(line) => on_line(&line),
            Err(RecvTimeoutError::Timeout) => {}
            // The pipe ends with QEMU.
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    qemu.0.wait()?;
    Ok(exit)
}

fn command(machine: &Machine<'_>) -> Result<Command> {
    // A guest that outlives a killed xtask would burn two cores unseen.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", PROGRAM]).args(args(machine));
    match machine.terminal {
        Terminal::Shell => command.stdin(Stdio::inherit()).stdout(Stdio::inherit()),
        Terminal::Output => command.stdin(Stdio::null()).stdout(Stdio::piped()),
    };
    command.stderr(File::create(machine.qemu_log)?);
    Ok(command)
}

/// The lines of the child's standard output, as they come. Closed when the output ends; for an inherited output, when
/// the child does.
fn read_lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let text = String::from_utf8_lossy(&line);
                if sender.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
    }
    receiver
}
