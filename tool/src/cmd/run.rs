//! `inject run`: functions fail, for a command, for a time, or until Ctrl-C.

use std::time::Duration;

use anyhow::{Context as _, bail};
use aya_log::EbpfLogger;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use super::Several;
use crate::{
    cli::{RunArgs, VERBS},
    exit::Exit,
    keys::KeyKnowledge,
    mechanism::{MechanismError, is_stub},
    plan::{PlanError, Planned, Request},
    report::{self, Asked, summary, verdict},
    rule::{self, Rate},
    running::{Running, is_initial_pid_namespace, require_root},
    session::{
        Beat, Command, CommandOutcome, Ended, HEARTBEAT, RunningCommand, Scope, Session,
        SessionOptions,
    },
    suggest,
};

/// Runs it all, from the plan to the summary.
pub fn run(arguments: &RunArgs) -> anyhow::Result<Exit> {
    let request = Request {
        functions: arguments.functions.clone(),
        value: match (&arguments.errno, &arguments.value) {
            (Some(errno), _) => rule::Asked::Errno(errno.clone()),
            (None, Some(value)) => rule::Asked::Return(value.clone()),
            (None, None) => rule::Asked::Default,
        },
        rate: arguments.rate.unwrap_or(Rate::ALWAYS),
        method: arguments.method.forced(),
    };
    // Before anything is opened, so that the waiting process holds no copy of it.
    let command = prepare_command(arguments)?;
    let running = Running::read()?;
    let planned = running.plan(&request).map_err(|errors| name_verbs(errors, arguments))?;
    consent(arguments, &request)?;
    if is_stub() {
        return Err(MechanismError::Stub.into());
    }
    if !is_initial_pid_namespace() {
        bail!(
            "this is not the initial PID namespace, where process ids are those that the kernel \
             uses; run inject on the host, or in a container with --pid=host"
        );
    }
    let keys = KeyKnowledge::gather(&running.symbols, arguments.image.as_deref())?;
    if arguments.dry_run {
        return dry_run(&planned, &keys);
    }
    if arguments.unsafe_nofail {
        eprintln!(
            "inject: warning: allocations that must not fail may fail now; the kernel may crash"
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(inject(arguments, &running, &keys, planned, command))
}

fn prepare_command(arguments: &RunArgs) -> anyhow::Result<Option<Command>> {
    if arguments.command.is_empty() || arguments.dry_run || require_root().is_err() {
        return Ok(None);
    }
    Command::prepare(&arguments.command).map(Some).context("COMMAND's process cannot be made")
}

fn consent(arguments: &RunArgs, request: &Request) -> anyhow::Result<()> {
    let system_wide = arguments.command.is_empty();
    if system_wide && request.rate > Rate::TENTH && !arguments.allow_system_wide {
        bail!(
            "{} of the calls would fail in the whole system, which may not survive it; limit it to a \
             command (-- COMMAND), lower --rate to 10% or less, or insist with --allow-system-wide",
            request.rate
        );
    }
    Ok(())
}

/// The first word may be a misspelt verb as well.
fn name_verbs(errors: Vec<PlanError>, arguments: &RunArgs) -> anyhow::Error {
    let first = arguments.functions.first().map_or("", String::as_str);
    let verbs = suggest::nearest(first, VERBS);
    let lines: Vec<String> = errors
        .into_iter()
        .map(|error| match &error {
            PlanError::Unknown { word, nearest } if word == first && !verbs.is_empty() => {
                let verbs = verbs.iter().map(|verb| format!("the verb {verb}"));
                let all: Vec<String> = verbs.chain(nearest.iter().cloned()).collect();
                format!("unknown function '{word}'{}", suggest::did_you_mean(&all))
            }
            _ => error.to_string(),
        })
        .collect();
    Several(lines).into()
}

fn dry_run(planned: &[Planned], keys: &KeyKnowledge) -> anyhow::Result<Exit> {
    let rows = planned
        .iter()
        .map(|one| {
            let key = keys.of(&one.name, one.address)?;
            keys.require(&one.name, &key)?;
            Ok(vec![
                one.name.clone(),
                one.value.to_string(),
                one.rate.to_string(),
                format!("{} ({})", one.mechanism, one.because),
            ])
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    print!("{}", report::table(&["FUNCTION", "RETURNS", "RATE", "MECHANISM"], &rows));
    Ok(Exit::Success)
}

async fn inject(
    arguments: &RunArgs,
    running: &Running,
    keys: &KeyKnowledge,
    planned: Vec<Planned>,
    command: Option<Command>,
) -> anyhow::Result<Exit> {
    let scope = command.as_ref().map_or(Scope::System, |command| Scope::Command(command.process()));
    let options = SessionOptions { scope, guards: !arguments.unsafe_nofail };
    let mut signals = Signals::new()?;
    let mut session = Session::commit(running, keys, planned, options)?;
    let mut log = EbpfLogger::init(session.ebpf()).ok();

    let started = match command {
        None => {
            eprintln!("inject: on{}", until(arguments.duration));
            Ok(None)
        }
        Some(command) => command.start()?.map(Some),
    };
    let (ended, exit) = match started {
        Err(outcome) => (session.end(), Ok(outcome)),
        Ok(running) => {
            let deadline = arguments.duration.map(|duration| Instant::now() + duration);
            let left = wait(&session, running.as_ref(), deadline, &mut signals, &mut log).await;
            let ended = session.end();
            (ended, finish(running, left, &mut signals).await)
        }
    };
    conclude(arguments, &ended, exit?)
}

fn until(duration: Option<Duration>) -> String {
    match duration {
        Some(duration) => format!(" for {}", humantime::format_duration(duration)),
        None => "; Ctrl-C ends it".to_owned(),
    }
}

/// Why the session is to end.
enum Left {
    /// COMMAND has ended.
    Ended(std::io::Result<CommandOutcome>),
    /// The time is over, or somebody asked for the end.
    Over,
}

/// What ends a run from outside.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::SIGINT,
            _ = self.terminate.recv() => Signal::SIGTERM,
            _ = self.hangup.recv() => Signal::SIGHUP,
        }
    }
}

/// What the eBPF programs have to say; seen with -v.
type Log = Option<EbpfLogger<&'static dyn log::Log>>;

/// Keeps the session acting until there is a reason to end it.
async fn wait(
    session: &Session,
    command: Option<&RunningCommand>,
    deadline: Option<Instant>,
    signals: &mut Signals,
    log: &mut Log,
) -> Left {
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                beat(session);
                if let Some(log) = log {
                    log.flush();
                }
            }
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

fn beat(session: &Session) {
    match session.beat() {
        Ok(Beat::InTime) => {}
        Ok(Beat::After(gap)) => {
            let gap = Duration::from_millis(gap.as_millis() as u64);
            eprintln!(
                "inject: was stopped or starved, so nothing was injected for {}; on again",
                humantime::format_duration(gap)
            );
        }
        // The next beat may do better; if none does, the session disarms itself.
        Err(error) => eprintln!("inject: {error}"),
    }
}

/// A terminal's Ctrl-C reaches the command by itself; what was sent to us alone does not.
fn pass_on(command: Pid, signal: Signal) {
    if signal != Signal::SIGINT {
        let _ = kill(command, signal);
    }
}

/// Waits for a command that outlives the session.
async fn finish(
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

fn conclude(arguments: &RunArgs, ended: &Ended, outcome: CommandOutcome) -> anyhow::Result<Exit> {
    let asked = Asked { scoped: !arguments.command.is_empty() };
    for line in summary(ended, asked).lines() {
        eprintln!("inject: {line}");
    }
    for problem in &ended.problems {
        eprintln!("inject: {problem}");
    }
    if !ended.problems.is_empty() {
        return Ok(Exit::Failure);
    }
    let exit = match outcome {
        CommandOutcome::NotRun(exit, message) => {
            eprintln!("inject: {message}");
            return Ok(exit);
        }
        CommandOutcome::Ended(exit) => exit,
    };
    match verdict(ended, asked) {
        Err((exit, lines)) if !arguments.allow_unused => {
            for line in lines {
                eprintln!("inject: {line}");
            }
            Ok(exit)
        }
        _ => Ok(exit),
    }
}
