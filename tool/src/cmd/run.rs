//! `inject run`: functions fail, for a command, for a time, or until Ctrl-C.

mod events;
mod signals;
mod wait;

use anyhow::{Context as _, bail};
use aya_log::EbpfLogger;
use nix::unistd::User;
use tokio::time::Instant;

use self::{
    events::Recorder,
    signals::Signals,
    wait::{Left, finish, wait},
};
use super::{
    Several,
    request::{consent, is_scoped, request},
};
use crate::{
    cli::{CountPer, RunArgs, VERBS},
    exit::Exit,
    keys::KeyKnowledge,
    mechanism::{MechanismError, is_stub},
    plan::{Plan, PlanError},
    report::{self, Asked, Output, Places, verdict},
    running::{KernelLog, Running, is_initial_pid_namespace, require_root},
    session::{Command, CommandOutcome, Ended, ScopeOptions, Session, SessionOptions},
    suggest,
};

/// Runs it all, from the plan to the summary.
pub fn run(arguments: &RunArgs) -> anyhow::Result<Exit> {
    let request = request(arguments)?;
    // Before anything is opened, so that the waiting process holds no copy of it.
    let command = prepare_command(arguments)?;
    let running = Running::read()?;
    let plan = running.plan(&request).map_err(|errors| name_verbs(errors, arguments))?;
    if !arguments.dry_run {
        consent(arguments, &plan)?;
    }
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
        return dry_run(&plan, &keys);
    }
    let live = command.is_none() && !arguments.trace && arguments.output.is_none();
    let places = Places::new(&running.symbols);
    let output = Output::open(arguments.output.as_deref(), arguments.json, live, places)
        .with_context(|| {
            format!("cannot write {}", arguments.output.as_deref().unwrap_or("".as_ref()).display())
        })?;
    for (name, reason) in &plan.left_out {
        eprintln!("inject: left out: {name}: {reason}");
    }
    if arguments.unsafe_nofail {
        eprintln!(
            "inject: warning: allocations that must not fail may fail now; the kernel may crash"
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(inject(arguments, &running, &keys, plan, command, output))
}

fn prepare_command(arguments: &RunArgs) -> anyhow::Result<Option<Command>> {
    if arguments.command.is_empty() || arguments.dry_run || require_root().is_err() {
        return Ok(None);
    }
    let user =
        match &arguments.user {
            Some(name) => {
                let user = User::from_name(name)?;
                Some(user.with_context(|| {
                    format!("there is no user '{name}'; name another with --user")
                })?)
            }
            None => None,
        };
    Command::prepare(&arguments.command, user).map(Some).context("COMMAND's process cannot be made")
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

fn dry_run(plan: &Plan, keys: &KeyKnowledge) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for function in &plan.functions {
        keys.require(&function.name, &keys.of(&function.name, function.address)?)?;
        for rule in &function.rules {
            rows.push(vec![
                function.name.clone(),
                rule.to_string(),
                format!("{} ({})", function.mechanism, function.because),
            ]);
        }
    }
    for (name, reason) in &plan.left_out {
        rows.push(vec![name.clone(), "left out".to_owned(), reason.clone()]);
    }
    print!("{}", report::table(&["FUNCTION", "FAILS WITH", "MECHANISM"], &rows));
    Ok(Exit::Success)
}

fn options(arguments: &RunArgs, command: Option<&Command>, seed: u64) -> SessionOptions {
    SessionOptions {
        scope: ScopeOptions {
            command: command.map(Command::process),
            processes: arguments.pid.clone(),
            descendants: arguments.descendants,
            comm: arguments.comm,
            uid: arguments.uid,
            cgroup: arguments.cgroup.clone(),
            kernel_threads: arguments.kthreads,
            interrupts: arguments.irq,
            count_per_task: arguments.count_per == CountPer::Task,
        },
        guards: !arguments.unsafe_nofail,
        seed,
    }
}

async fn inject(
    arguments: &RunArgs,
    running: &Running,
    keys: &KeyKnowledge,
    plan: Plan,
    command: Option<Command>,
    mut output: Output,
) -> anyhow::Result<Exit> {
    let asked = Asked {
        scoped: is_scoped(arguments),
        seed: arguments.seed.unwrap_or_else(new_seed),
        expect: arguments.expect,
        allow_unused: arguments.allow_unused,
    };
    let options = options(arguments, command.as_ref(), asked.seed);
    let mut signals = Signals::new()?;
    let mut session = Session::commit(running, keys, plan.functions.clone(), &options)?;
    let ebpf_log = EbpfLogger::init(session.ebpf()).ok();

    let mut kernel_log = KernelLog::open();
    kernel_log.write(&format!("pid {}: on: {}", std::process::id(), in_words(&plan)));
    output.start(&plan, &asked);
    let started = match command {
        None => {
            if !arguments.json {
                eprintln!("inject: on{}", until(arguments));
            }
            Ok(None)
        }
        Some(command) => command.start()?.map(Some),
    };
    let mut recorder = Recorder::new(&plan, arguments.trace, output, kernel_log, ebpf_log);
    let outcome = match started {
        Err(outcome) => {
            let ended = session.end();
            (ended, Ok(outcome))
        }
        Ok(command) => {
            let deadline = arguments.duration.map(|duration| Instant::now() + duration);
            let left =
                wait(&mut session, command.as_ref(), deadline, &mut signals, &mut recorder).await;
            recorder.flush(&mut session);
            let ended = session.end();
            if command.is_some() && matches!(left, Left::Over) {
                eprintln!("inject: off; waiting for COMMAND");
            }
            (ended, finish(command, left, &mut signals).await)
        }
    };
    let (ended, outcome) = outcome;
    recorder.end(&ended);
    conclude(arguments, &ended, &asked, recorder, outcome?)
}

/// Printed in the summary, so that the run can be repeated.
fn new_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    // Short, because people copy it.
    RandomState::new().hash_one(std::process::id()) & 0xffff_ffff
}

fn in_words(plan: &Plan) -> String {
    let words: Vec<String> = plan
        .functions
        .iter()
        .take(8)
        .flat_map(|function| function.rules.iter().map(|rule| format!("{} {rule}", function.name)))
        .collect();
    let more = plan.functions.len().saturating_sub(8);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", words.join("; "))
}

fn until(arguments: &RunArgs) -> String {
    match arguments.duration {
        Some(duration) => format!(" for {}", humantime::format_duration(duration)),
        None => "; Ctrl-C ends it".to_owned(),
    }
}

fn conclude(
    arguments: &RunArgs,
    ended: &Ended,
    asked: &Asked,
    mut recorder: Recorder,
    outcome: CommandOutcome,
) -> anyhow::Result<Exit> {
    recorder.output.summary(ended, asked);
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
    let mut reasons = verdict(ended, asked);
    if arguments.fail_on_warning && recorder.warnings > 0 {
        reasons.push(format!(
            "the kernel warned {} times; see above, or 'dmesg' for the whole of it",
            recorder.warnings
        ));
    }
    for reason in &reasons {
        eprintln!("inject: {reason}");
    }
    Ok(if reasons.is_empty() { exit } else { Exit::NotDone })
}
