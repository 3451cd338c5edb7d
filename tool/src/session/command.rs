//! COMMAND: a process that waits for the session to be armed, and then becomes the command.

use std::{
    ffi::{CString, OsString},
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
};

use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{Pid, User, initgroups, setgid, setuid},
};
use tokio::io::unix::AsyncFd;

use crate::{
    exit::Exit,
    sys::{self, Forked},
};

/// The waiting process. If `inject` ends first, however it ends, the process ends without becoming the command.
#[derive(Debug)]
pub struct Command {
    process: Pid,
    name: OsString,
    go: PipeWriter,
    failure: PipeReader,
}

/// How a command ended.
#[derive(Debug)]
pub enum Outcome {
    /// With this status, by the contract.
    Ended(Exit),
    /// It could not be run.
    NotRun(Exit, String),
}

impl Command {
    /// Forks the process. Must come before this process opens anything that the kernel should close with it, since the
    /// child gets a copy of every descriptor.
    ///
    /// With a user, the command runs as that one, with that one's groups.
    pub fn prepare(words: &[OsString], user: Option<User>) -> io::Result<Self> {
        let (wait, go) = io::pipe()?;
        let (failure, mut report) = io::pipe()?;
        let name = words.first().cloned().unwrap_or_default();
        match sys::fork()? {
            Forked::Parent(process) => Ok(Self { process, name, go, failure }),
            Forked::Child => {
                drop((go, failure));
                become_command(words, user, wait, &mut report);
                std::process::exit(i32::from(Exit::Failure.status()))
            }
        }
    }

    /// Its process id, which is also its first thread's.
    pub fn process(&self) -> Pid {
        self.process
    }

    /// Lets it go, waits for its end, and returns how it was. `None`: it is running now; wait for it with `ended`.
    pub fn start(mut self) -> io::Result<Result<RunningCommand, Outcome>> {
        self.go.write_all(b"g")?;
        drop(self.go);
        let mut error = [0; 4];
        // Nothing arrives if the exec went well, since that closes the pipe.
        if self.failure.read_exact(&mut error).is_err() {
            let pidfd = sys::pidfd(self.process)?;
            return Ok(Ok(RunningCommand { process: self.process, pidfd }));
        }
        waitpid(self.process, None)?;
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes(error));
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::CannotRun,
        };
        Ok(Err(Outcome::NotRun(exit, format!("{}: {error}", self.name.display()))))
    }
}

fn become_command(
    words: &[OsString],
    user: Option<User>,
    mut wait: PipeReader,
    report: &mut PipeWriter,
) {
    let mut go = [0];
    if wait.read_exact(&mut go).is_err() {
        return;
    }
    let [program, arguments @ ..] = words else { return };
    let error = match user.map_or(Ok(()), |user| become_user(&user)) {
        Ok(()) => std::process::Command::new(program).args(arguments).exec(),
        Err(error) => error,
    };
    let number = error.raw_os_error().unwrap_or(libc::EINVAL);
    let _ = report.write_all(&number.to_ne_bytes());
}

/// Groups first: without root they can no longer be changed.
fn become_user(user: &User) -> io::Result<()> {
    let name = CString::new(user.name.as_str())?;
    initgroups(&name, user.gid)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    Ok(())
}

/// A command that runs.
#[derive(Debug)]
pub struct RunningCommand {
    process: Pid,
    pidfd: AsyncFd<OwnedFd>,
}

impl RunningCommand {
    /// Its process id.
    pub fn process(&self) -> Pid {
        self.process
    }

    /// Waits for its end.
    pub async fn ended(&self) -> io::Result<Outcome> {
        log::debug!(
            "waiting for process {} by descriptor {}",
            self.process,
            self.pidfd.as_raw_fd()
        );
        let _ready = self.pidfd.readable().await?;
        Ok(Outcome::Ended(match waitpid(self.process, None)? {
            WaitStatus::Exited(_, 0) => Exit::Success,
            WaitStatus::Exited(_, status) => Exit::Command(status as u8),
            WaitStatus::Signaled(_, signal, _) => Exit::Command(128 + signal as u8),
            other => return Err(io::Error::other(format!("wait says {other:?}"))),
        }))
    }
}
