//! A process that holds keys when told to: `inject-tests workload agent`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use inject::keys::{HeldKeys, KeyDevice};

use super::{state::keyed, workload::PROGRAM};

/// The test's side.
pub struct Agent {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts one.
    pub fn start() -> anyhow::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(["workload", "agent"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let orders = child.stdin.take().context("no stdin")?;
        let answers = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, orders, answers })
    }

    /// Takes one reference to a function's key, beside those it has.
    pub fn hold(&mut self, function: &str) -> anyhow::Result<()> {
        self.order(&format!("hold {function}"))
    }

    /// Gives back all references, by closing their files.
    pub fn release(&mut self) -> anyhow::Result<()> {
        self.order("release")
    }

    fn order(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.orders, "{line}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer == "done\n", "the agent answers '{}' to '{line}'", answer.trim());
        Ok(())
    }

    /// Kills it.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.kill();
    }
}

/// The agent's side: obeys until its input ends.
pub fn obey() {
    let mut held = Vec::new();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match obey_one(&line, &mut held) {
            Ok(()) => println!("done"),
            Err(error) => println!("{error:#}"),
        }
    }
}

fn obey_one(line: &str, held: &mut Vec<HeldKeys>) -> anyhow::Result<()> {
    match line.split_once(' ') {
        Some(("hold", function)) => {
            let device = KeyDevice::open()?.context("there is no helper")?;
            held.push(device.hold(vec![keyed(function)?])?);
        }
        _ if line == "release" => held.clear(),
        _ => bail!("no such order"),
    }
    Ok(())
}
