//! Where things are: the clone, its build folder, and the user's cache that all clones share.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

#[derive(Clone, Debug)]
pub struct Paths {
    /// The root of the clone.
    pub root: PathBuf,
    /// Cargo's target folder: what belongs to this clone only.
    pub target: PathBuf,
    /// The user's cache: kernels and tools, shared by all clones on the machine.
    pub cache: PathBuf,
}

impl Paths {
    pub fn find() -> Result<Self> {
        // `cargo run` names the package's folder; the compiled-in one serves a binary that is started by hand.
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.parent().context("xtask's folder has no parent")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()) {
            Some(dir) => env::current_dir()?.join(dir),
            None => root.join("target"),
        };
        let cache =
            cache_home(env::var_os("XDG_CACHE_HOME").as_deref(), env::home_dir())?.join("inject");
        Ok(Self { root, target, cache })
    }

    /// A log file in the build folder, emptied; one for each step, so that a failure is easy to find.
    pub fn fresh_log(&self, name: &str) -> Result<PathBuf> {
        let dir = self.target.join("xtask-logs");
        create_dir(&dir)?;
        let log = dir.join(format!("{name}.log"));
        fs::write(&log, "").with_context(|| format!("cannot write {}", log.display()))?;
        Ok(log)
    }
}

/// The XDG rule: a relative `XDG_CACHE_HOME` is ignored.
fn cache_home(xdg: Option<&std::ffi::OsStr>, home: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(dir) = xdg.map(Path::new).filter(|dir| dir.is_absolute()) {
        return Ok(dir.to_owned());
    }
    match home {
        Some(home) => Ok(home.join(".cache")),
        None => bail!(
            "neither XDG_CACHE_HOME nor HOME is set, so there is no folder for the kernel cache"
        ),
    }
}

pub fn create_dir(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))
}

/// Removes a folder with all it holds; one that is not there is fine.
pub fn remove_dir(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => {
            Err(err).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn an_absolute_xdg_cache_home_wins() {
        let dir = cache_home(Some(OsStr::new("/big/cache")), Some("/home/a".into())).unwrap();
        assert_eq!(dir, Path::new("/big/cache"));
    }

    #[test]
    fn an_empty_or_relative_one_is_ignored() {
        for xdg in ["", "cache"] {
            let dir = cache_home(Some(OsStr::new(xdg)), Some("/home/a".into())).unwrap();
            assert_eq!(dir, Path::new("/home/a/.cache"));
        }
    }

    #[test]
    fn no_home_at_all_is_an_error() {
        assert!(cache_home(None, None).is_err());
    }
}
