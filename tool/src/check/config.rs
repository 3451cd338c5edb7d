//! The running kernel's configuration, where it can be read.

use std::{collections::HashMap, io::Read as _};

/// Options with their values; those that are off are missing.
#[derive(Debug)]
pub(super) struct Config {
    /// Where it was read.
    pub(super) path: String,
    options: HashMap<String, String>,
}

/// More than this is no configuration; a distribution's has 300 KB.
const MAX_SIZE: u64 = 16 << 20;

impl Config {
    /// From `/proc/config.gz`, or from where distributions keep it. None: nowhere.
    pub(super) fn read(release: &str) -> Option<Self> {
        let packed = std::fs::File::open("/proc/config.gz").ok().and_then(|file| {
            let mut text = String::new();
            flate2::read::GzDecoder::new(file).take(MAX_SIZE).read_to_string(&mut text).ok()?;
            Some(("/proc/config.gz".to_owned(), text))
        });
        let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        let plain = || {
            places
                .into_iter()
                .find_map(|path| Some((path.clone(), std::fs::read_to_string(path).ok()?)))
        };
        let (path, text) = packed.or_else(plain)?;
        Some(Self { path, options: parse(&text) })
    }

    /// The value of `CONFIG_` and this name; None: it is off.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str)
    }
}

fn parse(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_on_are_read_and_comments_are_not() {
        let options = parse("# CONFIG_FPROBE is not set\nCONFIG_BPF=y\nCONFIG_HZ=250\n\nrest\n");
        assert_eq!(options.len(), 2);
        assert_eq!(options["HZ"], "250");
    }
}
