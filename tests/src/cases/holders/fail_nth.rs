//! `fail-nth`: a task holds the keys from the first non-zero write to a zero write or its exit, and no longer.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use nix::sys::signal::Signal::SIGKILL;

use crate::{
    cases::cases,
    guest::{
        command::{Background, shell},
        counts::Counts,
        legacy::{Attribute, fail_nth, put},
        state::{KEYED, within},
        workload::{PROGRAM, counts},
    },
};

cases![
    it_needs_no_probability,
    a_task_holds_once_however_often_it_is_written,
    every_end_of_a_task_gives_the_hold_back,
    a_thread_gives_its_hold_back_as_well,
    a_child_does_not_inherit_it,
    a_task_that_has_ended_takes_none,
    writes_that_race_with_exits_leave_nothing,
];

const FAR: u32 = 1_000_000;

fn it_needs_no_probability() -> anyhow::Result<()> {
    let failslab = Attribute::idle("failslab")?;
    failslab.set("ignore-gfp-wait", "N")?;
    let ran = Command::new(PROGRAM).args(["workload", "fail-nth"]).output();
    failslab.set("ignore-gfp-wait", "Y")?;
    let ran = String::from_utf8(ran?.stdout)?;
    // An open() allocates a name, a file and more; each of them was made to fail once.
    let (reached, failed) = counts(&ran)?;
    ensure!(reached > 2 && failed > 1, "the workload printed '{ran}'");
    Ok(())
}

fn a_task_holds_once_however_often_it_is_written() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let task = sleeper()?;
    for (nth, count) in [(0, 0), (FAR, 1), (7, 1), (FAR, 1), (0, 0), (0, 0), (FAR, 1), (0, 0)] {
        fail_nth(task.0.id(), nth)?;
        keys.expect(&[count; 3], &format!("fail-nth {nth}"))?;
    }
    let other = sleeper()?;
    fail_nth(task.0.id(), FAR)?;
    fail_nth(other.0.id(), FAR)?;
    keys.expect(&[2; 3], "two tasks")?;
    drop(task);
    keys.expect(&[1; 3], "one of two tasks")?;
    drop(other);
    keys.expect(&[0; 3], "both are gone")
}

fn every_end_of_a_task_gives_the_hold_back() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let ends = [
        "exit 3",
        "kill -KILL $$",
        "kill -SEGV $$",
        "exec true",
        "exec inject-tests workload burn 50",
    ];
    for end in ends {
        // By the shell itself: echo is built in.
        shell(&format!("echo {FAR} > /proc/self/fail-nth; {end}"))?;
        // Whoever has waited for the process finds the keys without it.
        keys.expect(&[0; 3], end)?;
    }
    let task = sleeper()?;
    fail_nth(task.0.id(), FAR)?;
    task.signal(SIGKILL)?;
    // Also before anybody has waited for it.
    within(Duration::from_secs(1), || keys.expect(&[0; 3], "a zombie"))
}

fn a_thread_gives_its_hold_back_as_well() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let thread = thread::spawn(|| put("/proc/thread-self/fail-nth", &FAR.to_string()));
    thread.join().expect("writing does not panic")?;
    keys.expect(&[0; 3], "after the thread")
}

fn a_child_does_not_inherit_it() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let script = format!("echo {FAR} > /proc/self/fail-nth; /bin/true; echo; read line; exit 0");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = Background(shell.spawn()?);
    let mut byte = [0];
    let stdout = shell.0.stdout.as_mut().context("no stdout")?;
    std::io::Read::read_exact(stdout, &mut byte)?;
    // The shell has had a child, which has ended.
    keys.expect(&[1; 3], "the parent goes on")?;
    shell.0.stdin.as_mut().context("no stdin")?.write_all(b"\n")?;
    shell.0.wait()?;
    keys.expect(&[0; 3], "the parent is gone")
}

fn a_task_that_has_ended_takes_none() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let mut task = sleeper()?;
    task.0.kill()?;
    let state = format!("/proc/{}/stat", task.0.id());
    within(Duration::from_secs(1), || {
        ensure!(std::fs::read_to_string(&state)?.contains(") Z "), "not a zombie yet");
        Ok(())
    })?;
    for nth in [FAR, 0] {
        let error = fail_nth(task.0.id(), nth).err().context("written to a zombie")?;
        ensure!(error.raw_os_error() == Some(libc::ESRCH), "{error}");
        keys.expect(&[0; 3], "a zombie")?;
    }
    task.0.wait()?;
    Ok(())
}

fn writes_that_race_with_exits_leave_nothing() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let mut written = 0;
    for round in 0..150 {
        let mut task = Command::new("/bin/true").spawn()?;
        let process = task.id();
        // Ends with the task: then there is nothing to write to.
        let writers = [FAR, 0, FAR].map(|nth| {
            thread::spawn(move || (0..).take_while(|_| fail_nth(process, nth).is_ok()).count())
        });
        for writer in writers {
            written += writer.join().expect("writing does not panic");
        }
        task.wait()?;
        keys.expect(&[0; 3], &format!("round {round}"))?;
    }
    ensure!(written > 150, "only {written} writes");
    Ok(())
}

fn sleeper() -> anyhow::Result<Background> {
    Ok(Background(Command::new("/bin/sleep").arg("1000").spawn()?))
}
