//! KVM or emulation. A `/dev/kvm` that can be opened may still not run a guest, so a trial boot decides, once.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::paths::create_dir;
use crate::run::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    Kvm,
    Tcg,
}

impl Accel {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::Tcg => "emulation (TCG)",
        }
    }
}

/// The accelerator for this machine. `trial` boots a guest under KVM and tells whether it came up.
pub fn choose(cache: &Path, trial: impl FnOnce() -> Result<bool>) -> Result<Accel> {
    // Without the rights to open it there is nothing to try, and nothing to remember: rights change.
    if OpenOptions::new().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Accel::Tcg);
    }
    choose_for(cache, &machine()?, trial)
}

fn choose_for(cache: &Path, machine: &str, trial: impl FnOnce() -> Result<bool>) -> Result<Accel> {
    let dir = cache.join("kvm");
    let file = dir.join(&blake3::hash(machine.as_bytes()).to_hex()[..16]);
    match fs::read_to_string(&file).as_deref().map(str::trim) {
        Ok("works") => return Ok(Accel::Kvm),
        Ok("fails") => return Ok(Accel::Tcg),
        _ => {}
    }
    let works = trial()?;
    create_dir(&dir)?;
    fs::write(&file, if works { "works\n" } else { "fails\n" })?;
    Ok(if works { Accel::Kvm } else { Accel::Tcg })
}

/// What the answer depends on: the host's kernel, QEMU and the processor.
fn machine() -> Result<String> {
    let kernel = output(Command::new("uname").arg("-r"))?;
    let qemu = output(Command::new(super::qemu::PROGRAM).arg("--version"))?;
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpuinfo.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    Ok(format!("{kernel}\n{qemu}\n{cpu}"))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_answer_is_remembered_for_this_machine_only() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(choose_for(cache.path(), "a", || Ok(false)).unwrap(), Accel::Tcg);
        assert_eq!(choose_for(cache.path(), "a", || bail!("tried again")).unwrap(), Accel::Tcg);
        assert_eq!(choose_for(cache.path(), "b", || Ok(true)).unwrap(), Accel::Kvm);
        assert_eq!(choose_for(cache.path(), "b", || bail!("tried again")).unwrap(), Accel::Kvm);
    }

    #[test]
    fn a_trial_that_could_not_be_made_is_not_remembered() {
        let cache = tempfile::tempdir().unwrap();
        assert!(choose_for(cache.path(), "a", || bail!("no kernel")).is_err());
        assert_eq!(choose_for(cache.path(), "a", || Ok(true)).unwrap(), Accel::Kvm);
    }
}
