//! Kernels for the guest: found in the cache, or built into it.

mod build;
mod cache;
mod config;
mod key;
pub mod list;
mod trim;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

pub use build::make;
use cache::Entry;
use list::Spec;

use crate::paths::Paths;

/// A built kernel. While this lives no other process removes it from the cache.
pub struct Kernel {
    pub spec: Spec,
    /// What `uname -r` prints.
    pub release: String,
    entry: Entry,
}

impl Kernel {
    /// The kernel from the cache, built if it is not there. What [`crate::deps`] installs must be on the machine.
    pub fn get(paths: &Paths, spec: Spec) -> Result<Self> {
        let key = key::key(paths, &spec)?;
        let entry =
            cache::entry(&paths.cache, &spec.name, &key, |dir| build::build(paths, &spec, dir))
                .with_context(|| format!("cannot build the kernel {}", spec.name))?;
        let release = fs::read_to_string(entry.dir.join("release"))?.trim().to_owned();
        Ok(Self { spec, release, entry })
    }

    /// Whether a job can go on without building it. Where the tools to answer are missing, it cannot.
    pub fn is_cached(paths: &Paths, spec: &Spec) -> bool {
        key::key(paths, spec).is_ok_and(|key| cache::has(&paths.cache, &spec.name, &key))
    }

    pub fn dir(&self) -> PathBuf {
        self.entry.dir.clone()
    }

    /// The name of its folder in the cache: changes when anything in the kernel does.
    pub fn id(&self) -> String {
        self.entry.dir.file_name().unwrap_or_default().display().to_string()
    }

    pub fn image(&self) -> PathBuf {
        self.entry.dir.join("bzImage")
    }

    /// Symbols, BTF and data, without DWARF.
    pub fn vmlinux(&self) -> PathBuf {
        self.entry.dir.join("vmlinux")
    }

    /// What external modules are built against.
    pub fn tree(&self) -> PathBuf {
        self.entry.dir.join("tree")
    }
}
