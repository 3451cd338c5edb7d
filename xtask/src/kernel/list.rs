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
    kernels: BTreeMap<String, Listed>,
}

/// One kernel as it stands in the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Listed {
    like: Option<String>,
    source: Option<String>,
    patches: Option<String>,
    config: Vec<String>,
    packages: Vec<String>,
    command_line: Vec<String>,
    only_bench: bool,
    skip: Vec<Skip>,
}

/// One kernel with all that it takes over from another.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub name: String,
    /// Debian's source package; it puts `/usr/src/<source>.tar.xz` on the machine.
    pub source: String,
    /// A folder under `vm/patches`.
    patches: Option<String>,
    /// Names of fragments under `vm/config`.
    config: Vec<String>,
    /// Debian packages that its build needs beside those of every kernel.
    pub packages: Vec<String>,
    /// Words for the kernel's command line, beside those of every guest.
    pub command_line: Vec<String>,
    /// Built for measurements: no test runs on it.
    only_bench: bool,
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

impl File {
    fn read(paths: &Paths) -> Result<Self> {
        let file = paths.root.join("vm/kernels.toml");
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", file.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// A kernel is like one that is like none, so there are no circles to look for.
    fn find(&self, name: &str) -> Result<Spec> {
        let Some(listed) = self.kernels.get(name) else {
            let known: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
            bail!("no kernel is named {name}; there are {}", known.join(", "));
        };
        let Listed { like, source, patches, config, packages, command_line, only_bench, skip } =
            listed.clone();
        let mut spec = match like {
            Some(like) if self.kernels.get(&like).is_some_and(|other| other.like.is_none()) => {
                self.find(&like)?
            }
            Some(like) => bail!("{name} is like {like}, which is not a kernel of its own"),
            None => Spec::default(),
        };
        spec.name = name.to_owned();
        spec.source = match source {
            Some(source) => source,
            None if spec.source.is_empty() => bail!("{name} has no source"),
            None => spec.source,
        };
        spec.patches = patches.or(spec.patches);
        spec.config.extend(config);
        spec.packages.extend(packages);
        spec.command_line.extend(command_line);
        spec.only_bench |= only_bench;
        spec.skip.extend(skip);
        Ok(spec)
    }
}

impl Spec {
    pub fn find(paths: &Paths, name: &str) -> Result<Self> {
        File::read(paths)?.find(name)
    }

    /// The names of all kernels that tests run on.
    pub fn tested(paths: &Paths) -> Result<Vec<String>> {
        let file = File::read(paths)?;
        let kernels = file.kernels.iter().filter(|(_, listed)| !listed.only_bench);
        Ok(kernels.map(|(name, _)| name.clone()).collect())
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
        [kernels.debug]
        like = "keyed"
        config = ["debug"]
        packages = ["libssl-dev"]
        command_line = ["panic_on_warn=1"]
        skip = [{ test = "speed", reason = "this kernel is slow" }]
        [kernels.stock]
        source = "linux-source-1"
        config = ["base"]
    "#;

    fn find(text: &str, name: &str) -> Result<Spec> {
        File::parse(text)?.find(name)
    }

    #[test]
    fn a_kernel_is_found_by_name() {
        let spec = find(TEXT, "keyed").unwrap();
        assert_eq!(spec.tarball(), Path::new("/usr/src/linux-source-1.tar.xz"));
        assert_eq!(spec.skip[0].test, "clones");
    }

    #[test]
    fn a_variant_has_what_it_is_like_and_its_own_behind_that() {
        let spec = find(TEXT, "debug").unwrap();
        assert_eq!((spec.name.as_str(), spec.source.as_str()), ("debug", "linux-source-1"));
        assert_eq!(spec.patches.as_deref(), Some("1"));
        assert_eq!(spec.config, ["base", "debug"]);
        let skipped: Vec<&str> = spec.skip.iter().map(|skip| skip.test.as_str()).collect();
        assert_eq!(skipped, ["clones", "speed"]);
    }

    #[test]
    fn a_variant_of_a_variant_and_of_nothing_are_errors() {
        for like in ["debug", "nothing"] {
            let text = format!("{TEXT}\n[kernels.v]\nlike = \"{like}\"");
            assert!(find(&text, "v").is_err(), "{like}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let text = find(TEXT, "7.9").unwrap_err().to_string();
        assert!(text.contains("debug, keyed, stock"), "{text}");
    }

    #[test]
    fn a_misspelt_field_and_a_missing_source_are_errors() {
        assert!(find(&TEXT.replace("patches", "patchs"), "keyed").is_err());
        assert!(find("[kernels.bare]\nconfig = []", "bare").is_err());
    }

    #[test]
    fn the_file_in_the_clone_is_sound_and_names_files_that_exist() {
        let paths = Paths::find().unwrap();
        let file = File::read(&paths).unwrap();
        assert!(file.kernels.contains_key(DEFAULT));
        for name in file.kernels.keys() {
            let spec = file.find(name).unwrap();
            assert!(spec.skip.iter().all(|skip| skip.reason.len() > 10), "{name}: why?");
            spec.patches(&paths).unwrap();
            for fragment in spec.fragments(&paths) {
                assert!(fragment.is_file(), "{}", fragment.display());
            }
        }
    }
}
