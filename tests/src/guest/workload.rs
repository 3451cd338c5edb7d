//! Programs that tests run under injection: `inject-tests workload NAME …`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    hint::black_box,
    os::unix::fs::FileExt as _,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use super::{agent, churn, fuzz, legacy::put};

/// The path under which the guest has this program.
pub const PROGRAM: &str = "/bin/inject-tests";

/// Runs one.
pub fn run(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["opens", count] => opens(count.parse().unwrap_or(0)),
        ["opens-failing", count] => {
            // For attributes with a task filter. Not before the exec, which would not survive it.
            if let Err(error) = put("/proc/self/make-it-fail", "1") {
                return report(Err(error.into()));
            }
            opens(number(count));
        }
        ["opens-for", seconds] => opens_for(Duration::from_secs(seconds.parse().unwrap_or(0))),
        ["calls", count] => calls(count.parse().unwrap_or(0)),
        ["mounts", count] => mounts(count.parse().unwrap_or(0)),
        ["tree"] => tree(),
        ["fail-nth"] => return report(fail_nth()),
        ["agent"] => agent::obey(),
        ["churn", seed, operations, record] => {
            return report(churn::run(number(seed), number(operations), record));
        }
        ["fuzz", seed, calls, who] => {
            return report(fuzz::run(number(seed), number(calls), who == "nobody"));
        }
        ["burn", milliseconds] => burn(Duration::from_millis(milliseconds.parse().unwrap_or(0))),
        _ => {
            eprintln!("no such workload: {words:?}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or(0)
}

fn report(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Opens a file that is there; every open allocates from the slab.
fn open_once() -> Option<i32> {
    File::open("/proc/self/stat").err().map(|error| error.raw_os_error().unwrap_or(0))
}

/// Opens so many times, and prints how many failed, and with which errors.
fn opens(count: u64) {
    let mut errors = BTreeSet::new();
    let mut failed = 0;
    for _ in 0..count {
        if let Some(error) = black_box(open_once()) {
            failed += 1;
            errors.insert(error);
        }
    }
    println!("{count} opens, {failed} failed, errors {errors:?}");
}

/// Makes the first allocation of an open fail, then the second, and so on until an open needs no more of them.
fn fail_nth() -> anyhow::Result<()> {
    let nth = File::options().read(true).write(true).open("/proc/thread-self/fail-nth")?;
    let (mut reached, mut failed) = (0, 0);
    for number in 1..1000 {
        nth.write_all_at(number.to_string().as_bytes(), 0)?;
        let error = open_once();
        let mut left = [0; 8];
        let length = nth.read_at(&mut left, 0)?;
        nth.write_all_at(b"0", 0)?;
        if &left[..length] != b"0\n" {
            break;
        }
        reached += 1;
        failed += u32::from(error == Some(libc::ENOMEM));
    }
    println!("{reached} reached, {failed} failed");
    Ok(())
}

/// The same for a time.
fn opens_for(time: Duration) {
    let end = Instant::now() + time;
    let (mut count, mut failed) = (0u64, 0u64);
    while Instant::now() < end {
        count += 1;
        failed += u64::from(black_box(open_once()).is_some());
    }
    println!("{count} opens, {failed} failed");
}

/// Makes a system call that nothing else makes, so many times, and prints the numbers of those that failed.
fn calls(count: u64) {
    let failed: Vec<String> = (1..=count)
        .filter(|_| nix::unistd::getpgid(None).is_err())
        .map(|number| number.to_string())
        .collect();
    println!("{}", failed.join(" "));
}

/// Mounts something that makes no sense, so many times, and prints how that ended.
fn mounts(count: u64) {
    let mut errors: BTreeMap<i32, u64> = BTreeMap::new();
    for _ in 0..count {
        let result = nix::mount::mount(
            Some("nonsense"),
            "/",
            Some("nonsense"),
            nix::mount::MsFlags::empty(),
            None::<&str>,
        );
        // The raw number: not every one has a name.
        let error =
            result.err().map_or(0, |_| std::io::Error::last_os_error().raw_os_error().unwrap_or(0));
        *errors.entry(error).or_default() += 1;
    }
    let succeeded = errors.remove(&0).unwrap_or(0);
    let failed: Vec<String> =
        errors.iter().map(|(error, count)| format!("{count} with errno {error}")).collect();
    println!("{succeeded} succeeded, {}", failed.join(", "));
}

/// A grandchild, left behind by its parent and in a session of its own, opens and prints what failed.
fn tree() {
    let script = format!("setsid sh -c '{PROGRAM} workload opens 200' & wait");
    let status = Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::null()).status();
    if status.is_err() {
        println!("the tree could not be grown");
    }
}

/// Keeps a CPU busy without allocating.
fn burn(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// What `opens` and `opens-for` printed: opens, and failures among them.
pub fn counts(stdout: &str) -> anyhow::Result<(u64, u64)> {
    let number = |part: &str| part.split_whitespace().next()?.parse().ok();
    let mut parts = stdout.split(", ");
    let (count, failed) = (parts.next().and_then(number), parts.next().and_then(number));
    count.zip(failed).ok_or_else(|| anyhow::anyhow!("the workload printed '{stdout}'"))
}

/// What `calls` printed: the numbers of those that failed.
pub fn failed_calls(stdout: &str) -> anyhow::Result<Vec<u64>> {
    stdout.split_whitespace().map(|number| Ok(number.parse()?)).collect()
}
