//! Built kernels in the user's cache: one folder each, locked while it is built or used, trusted once its marker is there.
//!
//! A build tree holds absolute paths, so it is built where it stays and cannot be moved into place at the end. What
//! makes it trustworthy is the marker file, written last. A folder without a marker that nobody has locked is what an
//! interrupted build left.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result};

use crate::paths::{create_dir, remove_dir};

const MARKER: &str = "complete";

/// How many kernels of one name stay: the current one, and the one before for whoever goes back a commit.
const KEEP: usize = 2;

/// A finished kernel's folder. While this lives nobody removes it.
pub struct Entry {
    pub dir: PathBuf,
    _lock: File,
}

/// The entry for `name` with `key`, made by `build` if it is not there. `build` gets an empty folder.
pub fn entry(
    cache: &Path,
    name: &str,
    key: &str,
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<Entry> {
    let kernels = cache.join("kernels");
    create_dir(&kernels)?;
    let dir = kernels.join(format!("{name}-{key}"));
    let lock = open_lock(&dir)?;
    share(&lock, name)?;
    if !is_complete(&dir) {
        lock.unlock()?;
        lock.lock()?;
        // Another process may have built it while this one waited.
        if !is_complete(&dir) {
            remove_leftovers(&kernels)?;
            remove_dir(&dir)?;
            create_dir(&dir)?;
            build(&dir)?;
            write_marker(&dir)?;
        }
    }
    // The time of the last use decides which kernels stay.
    File::options().append(true).open(dir.join(MARKER))?.set_modified(SystemTime::now())?;
    lock.lock_shared()?;
    remove_old(&kernels, name)?;
    Ok(Entry { dir, _lock: lock })
}

/// Whether a finished kernel is there.
pub fn has(cache: &Path, name: &str, key: &str) -> bool {
    is_complete(&cache.join("kernels").join(format!("{name}-{key}")))
}

fn is_complete(dir: &Path) -> bool {
    dir.join(MARKER).is_file()
}

fn lock_path(dir: &Path) -> PathBuf {
    dir.with_file_name(format!("{}.lock", dir.file_name().unwrap_or_default().display()))
}

/// Lock files stay: removing one that another process has just opened would give two owners.
fn open_lock(dir: &Path) -> Result<File> {
    let path = lock_path(dir);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    file.with_context(|| format!("cannot open {}", path.display()))
}

/// Who builds holds the lock alone, so this is where everybody else waits.
fn share(lock: &File, name: &str) -> Result<()> {
    if let Err(TryLockError::WouldBlock) = lock.try_lock_shared() {
        eprintln!("Another cargo xtask is building {name}; waiting for it.");
        lock.lock_shared()?;
    }
    Ok(())
}

fn write_marker(dir: &Path) -> Result<()> {
    // What the marker vouches for must reach the disk before it does.
    for file in fs::read_dir(dir)? {
        let file = file?.path();
        if file.is_file() {
            File::open(&file)?.sync_all()?;
        }
    }
    let marker = File::create(dir.join(MARKER))?;
    marker.sync_all()?;
    File::open(dir)?.sync_all()?;
    Ok(())
}

/// Removes what interrupted builds left, of any kernel.
fn remove_leftovers(kernels: &Path) -> Result<()> {
    for dir in entries(kernels)? {
        if !is_complete(&dir) {
            remove_if_unused(&dir)?;
        }
    }
    Ok(())
}

/// Removes all but the most recently used kernels of one name.
fn remove_old(kernels: &Path, name: &str) -> Result<()> {
    let mut found = Vec::new();
    for dir in entries(kernels)? {
        if is_complete(&dir) && belongs_to(&dir, name) {
            found.push((fs::metadata(dir.join(MARKER))?.modified()?, dir));
        }
    }
    found.sort();
    found.reverse();
    for (_, dir) in found.iter().skip(KEEP) {
        remove_if_unused(dir)?;
    }
    Ok(())
}

fn remove_if_unused(dir: &Path) -> Result<()> {
    let lock = open_lock(dir)?;
    if lock.try_lock().is_ok() {
        // First the marker: a removal that is interrupted must not leave half a kernel that looks whole.
        let _ = fs::remove_file(dir.join(MARKER));
        remove_dir(dir)?;
    }
    Ok(())
}

fn entries(kernels: &Path) -> Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for entry in fs::read_dir(kernels)? {
        let path = entry?.path();
        if path.is_dir() {
            dirs.push(path);
        }
    }
    Ok(dirs)
}

/// `6.1-keyed-<key>` belongs to `6.1-keyed`, and not to `6.1`.
fn belongs_to(dir: &Path, name: &str) -> bool {
    let folder = dir.file_name().and_then(|folder| folder.to_str());
    folder.and_then(|folder| folder.rsplit_once('-')).is_some_and(|(prefix, _)| prefix == name)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
