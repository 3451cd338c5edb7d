//! `vm/kernels.toml`: which kernels there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::paths::Paths;

/// The kernel that every job uses unless told otherwise.
pub const DEFAULT: &str = "6.1-keyed";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernels: BTreeMap<String, Spec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    #[serde(skip)]
    pub name: String,
    /// Debian's source package; it puts `/usr/src/<source>.tar.xz` on the machine.
    pub source: String,
    /// A folder under `vm/patches`.
    #[serde(default)]
    patches: Option<String>,
    /// Names of fragments under `vm/config`.
    config: Vec<String>,
    /// Words for the kernel's command line, beside those of every guest.
    #[serde(default)]
    pub command_line: Vec<String>,
    #[serde(default)]
    pub skip: Vec<Skip>,
}

/// A test that cannot hold on a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// The test's path, or the start of several.
    pub test: String,
    pub reason: String,
}

impl Spec {
    pub fn find(paths: &Paths, name: &str) -> Result<Self> {
        let file = paths.root.join("vm/kernels.toml");
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text, name).with_context(|| format!("in {}", file.display()))
    }

    fn parse(text: &str, name: &str) -> Result<Self> {
        let mut file: File = toml::from_str(text)?;
        let Some(mut spec) = file.kernels.remove(name) else {
            let known: Vec<String> = file.kernels.into_keys().collect();
            bail!("no kernel is named {name}; there are {}", known.join(", "));
        };
        spec.name = name.to_owned();
        Ok(spec)
    }

    /// The names of all kernels.
    pub fn names(paths: &Paths) -> Result<Vec<String>> {
        let file = paths.root.join("vm/kernels.toml");
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let file: File = toml::from_str(&text).with_context(|| format!("in {}", file.display()))?;
        Ok(file.kernels.into_keys().collect())
    }

    pub fn tarball(&self) -> PathBuf {
        Path::new("/usr/src").join(format!("{}.tar.xz", self.source))
    }

    /// The patches in the order in which they apply.
    pub fn patches(&self, paths: &Paths) -> Result<Vec<PathBuf>> {
        let Some(folder) = &self.patches else { return Ok(Vec::new()) };
        let dir = paths.root.join("vm/patches").join(folder);
        let entries =
            fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|ext| ext == "patch"));
        files.sort();
        if files.is_empty() {
            bail!("{} holds no patches", dir.display());
        }
        Ok(files)
    }

    pub fn fragments(&self, paths: &Paths) -> Vec<PathBuf> {
        let dir = paths.root.join("vm/config");
        self.config.iter().map(|name| dir.join(format!("{name}.config"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [kernels.keyed]
        source = "linux-source-1"
        patches = "1"
        config = ["base"]
        skip = [{ test = "clones", reason = "the compiler makes none" }]
        [kernels.stock]
        source = "linux-source-1"
        config = ["base"]
    "#;

    #[test]
    fn a_kernel_is_found_by_name() {
        let spec = Spec::parse(TEXT, "keyed").unwrap();
        assert_eq!(spec.tarball(), Path::new("/usr/src/linux-source-1.tar.xz"));
        assert_eq!(spec.skip[0].test, "clones");
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let text = Spec::parse(TEXT, "7.9").unwrap_err().to_string();
        assert!(text.contains("keyed, stock"), "{text}");
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(Spec::parse(&TEXT.replace("patches", "patchs"), "keyed").is_err());
    }

    #[test]
    fn the_file_in_the_clone_is_sound_and_names_files_that_exist() {
        let paths = Paths::find().unwrap();
        let names = Spec::names(&paths).unwrap();
        assert!(names.iter().any(|name| name == DEFAULT));
        for name in names {
            let spec = Spec::find(&paths, &name).unwrap();
            assert!(spec.skip.iter().all(|skip| skip.reason.len() > 10), "{name}: why?");
            spec.patches(&paths).unwrap();
            for fragment in spec.fragments(&paths) {
                assert!(fragment.is_file(), "{}", fragment.display());
            }
        }
    }
}
