//! The time between "on" and "off".

use std::time::Duration;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{events::Recorder, signals::Signals};
use crate::{
    exit::Exit,
    session::{Beat, CommandOutcome, HEARTBEAT, RunningCommand, Session},
};

/// How often injections are fetched: often enough for a trace to be followed, and for the buffer not to run over.
const FETCH: Duration = Duration::from_millis(100);

/// Why the session is to end.
pub(super) enum Left {
    /// COMMAND has ended.
    Ended(std::io::Result<CommandOutcome>),
    /// The time is over, or somebody asked for the end.
    Over,
}

/// Keeps the session acting until there is a reason to end it.
pub(super) async fn wait(
    session: &mut Session,
    command: Option<&RunningCommand>,
    deadline: Option<Instant>,
    signals: &mut Signals,
    recorder: &mut Recorder,
) -> Left {
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fetch = interval(FETCH);
    fetch.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = async {
        match command {
            Some(command) => command.ended().await,
            None => std::future::pending().await,
        }
    };
    let over = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(ended, over);
    let mut asked_to_end = 0;
    loop {
        tokio::select! {
            outcome = &mut ended => return Left::Ended(outcome),
            () = &mut over => return Left::Over,
            _ = heartbeat.tick() => {
                beat(session, recorder);
                recorder.show(session, deadline.map(|deadline| deadline - Instant::now()));
            }
            _ = fetch.tick() => recorder.fetch(session),
            signal = signals.next() => match command {
                None => return Left::Over,
                Some(command) => {
                    asked_to_end += 1;
                    if asked_to_end > 1 {
                        return Left::Over;
                    }
                    pass_on(command.process(), signal);
                }
            },
        }
    }
}

fn beat(session: &Session, recorder: &mut Recorder) {
    match session.beat() {
        Ok(Beat::InTime) => {}
        Ok(Beat::After(gap)) => {
            let gap = Duration::from_millis(gap.as_millis() as u64);
            recorder.say(&format!(
                "was stopped or starved, so nothing was injected for {}; on again",
                humantime::format_duration(gap)
            ));
        }
        // The next beat may do better; if none does, the session disarms itself.
        Err(error) => recorder.say(&error.to_string()),
    }
}

/// A terminal's Ctrl-C reaches the command by itself; what was sent to us alone does not.
fn pass_on(command: Pid, signal: Signal) {
    if signal != Signal::SIGINT {
        let _ = kill(command, signal);
    }
}

/// Waits for a command that outlives the session.
pub(super) async fn finish(
    command: Option<RunningCommand>,
    left: Left,
    signals: &mut Signals,
) -> anyhow::Result<CommandOutcome> {
    let Some(command) = command else { return Ok(CommandOutcome::Ended(Exit::Success)) };
    if let Left::Ended(outcome) = left {
        return Ok(outcome?);
    }
    loop {
        tokio::select! {
            outcome = command.ended() => return Ok(outcome?),
            _ = signals.next() => { let _ = kill(command.process(), Signal::SIGKILL); }
        }
    }
}
