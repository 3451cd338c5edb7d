//! The folder of one run: the initramfs goes in, the console log and the job's status come out.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::paths::{Paths, create_dir};

/// Locked while it lives, so that two guests of one job do not write into each other's files.
pub struct RunDir {
    pub initramfs: PathBuf,
    pub console_log: PathBuf,
    pub status: PathBuf,
    /// What QEMU itself says.
    pub qemu_log: PathBuf,
    _lock: File,
}

impl RunDir {
    /// `target/vm/<name>`, or with `-2`, `-3` and so on behind it while another guest uses that one.
    pub fn take(paths: &Paths, name: &str) -> Result<Self> {
        let vm = paths.target.join("vm");
        let mut number = 1;
        loop {
            let dir = if number == 1 { vm.join(name) } else { vm.join(format!("{name}-{number}")) };
            create_dir(&dir)?;
            let lock = File::create(dir.join("lock"))?;
            if lock.try_lock().is_err() {
                number += 1;
                continue;
            }
            let files =
                ["initramfs", "console.log", "status", "qemu.log"].map(|file| dir.join(file));
            for file in &files {
                // What the last run left must not be taken for this one's.
                fs::write(file, "").with_context(|| format!("cannot write {}", file.display()))?;
            }
            let [initramfs, console_log, status, qemu_log] = files;
            return Ok(Self { initramfs, console_log, status, qemu_log, _lock: lock });
        }
    }

    pub fn console(&self) -> Result<String> {
        let bytes = fs::read(&self.console_log)
            .with_context(|| format!("cannot read {}", self.console_log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
    }

    /// The job's exit status; none if the guest did not come that far.
    pub fn status(&self) -> Option<i32> {
        fs::read_to_string(&self.status).ok()?.trim().parse().ok()
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // Big, and of no use to anybody afterwards.
        let _ = fs::remove_file(&self.initramfs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_guest_gets_a_folder_of_its_own_and_a_later_one_the_first_again() {
        let target = tempfile::tempdir().unwrap();
        let dir = target.path().to_owned();
        let paths = Paths { root: dir.clone(), target: dir.clone(), cache: dir.clone() };
        let first = RunDir::take(&paths, "shell").unwrap();
        let second = RunDir::take(&paths, "shell").unwrap();
        assert_ne!(first.status, second.status);
        fs::write(&first.status, "7\n").unwrap();
        assert_eq!(first.status(), Some(7));
        drop(first);
        let third = RunDir::take(&paths, "shell").unwrap();
        assert_eq!(third.console_log, dir.join("vm/shell/console.log"));
        assert_eq!(third.status(), None);
    }
}
