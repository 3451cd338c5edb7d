//! `--try`: programs that fail a harmless system call for this process only, and the proof that it fails.

use std::os::fd::AsFd as _;

use nix::{errno::Errno, unistd::getpgid};

use super::{Answer, Finding, Part, machine::Machine, probes::harmless};
use crate::{
    running::is_initial_pid_namespace,
    sys::{self, Attach, ProgramKind},
};

/// An error that getpgid(2) never gives by itself.
const ERROR: Errno = Errno::EXFULL;

/// Tries each mechanism. One that works is enough.
pub fn trial(machine: &Machine) -> Part {
    let answers = [("kprobe-multi", kprobe_multi(machine)), ("fmod-ret", fmod_ret(machine))];
    let works = answers.iter().any(|(_, answer)| answer.is_yes());
    let mut findings: Vec<Finding> =
        answers.into_iter().map(|(name, answer)| Finding::useful(name, answer)).collect();
    let answer = if works {
        Answer::yes(format!("{ERROR:?} arrived"))
    } else {
        Answer::no("no value arrived by any mechanism", "see what the answers above advise")
    };
    findings.push(Finding::needed("a value arrives", answer));
    Part { function: Some(format!("trial on {}", harmless())), findings }
}

fn kprobe_multi(machine: &Machine) -> Answer {
    let Some(address) = machine.symbols.as_ref().and_then(|all| all.address(&harmless())) else {
        return Answer::unknown("the function's address is hidden");
    };
    let attach = Attach::KprobeMulti { addresses: &[address], cookies: &[0] };
    attempt(ProgramKind::KprobeMulti, attach)
}

fn fmod_ret(machine: &Machine) -> Answer {
    let functions = machine.btf.as_ref().map(|btf| btf.functions(&harmless()));
    match functions.unwrap_or_default()[..] {
        [function] => attempt(
            ProgramKind::ModifyReturn { btf_id: function.id },
            Attach::ModifyReturn { cookie: 0 },
        ),
        _ => Answer::unknown("the function is not in this kernel's BTF"),
    }
}

fn attempt(kind: ProgramKind, attach: Attach<'_>) -> Answer {
    if !is_initial_pid_namespace() {
        return Answer::unknown("not in the initial PID namespace, so not tried");
    }
    let program = match sys::failing_program(kind, std::process::id(), ERROR as i32) {
        Ok(program) => program,
        Err(error) => {
            return Answer::no(format!("its program does not load: {error}"), "see 'inject check'");
        }
    };
    let before = getpgid(None);
    let link = match sys::create_link(program.as_fd(), attach) {
        Ok(link) => link,
        Err(error) => {
            return Answer::no(format!("it is not attached: {error}"), "see 'inject check'");
        }
    };
    let during = getpgid(None);
    drop(link);
    // A multi link is freed at once; a trampoline may stay for a moment, and fails this process only.
    match (before, during) {
        (Ok(_), Err(ERROR)) => Answer::yes("attached, and the value arrived"),
        (Ok(_), _) => Answer::no(
            "attached, but the value did not arrive",
            "use the other mechanism, and report this kernel's version",
        ),
        (Err(error), _) => Answer::unknown(format!("getpgid(2) fails by itself: {error}")),
    }
}
