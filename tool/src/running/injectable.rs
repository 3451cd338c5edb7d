//! The kernel's error injection list.

use std::{collections::HashSet, path::Path};

use super::{RunningError, Symbols};
use crate::image::ErrorType;

const DEBUGFS: &str = "/sys/kernel/debug";
const PATH: &str = "/sys/kernel/debug/error_injection/list";

/// One entry: a function that may be made to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injectable {
    /// The first of its names in the kernel's symbol table.
    pub name: String,
    /// None: vmlinux.
    pub module: Option<String>,
    /// Which results are failures.
    pub error_type: ErrorType,
    /// Not in the list: an LSM hook, or a system call on a kernel that has no list. Only fmod_ret can fail it.
    pub fmod_ret_only: bool,
}

/// The list, in the kernel's order.
#[derive(Clone, Debug, Default)]
pub struct InjectableList {
    entries: Vec<Injectable>,
    absent: bool,
}

impl InjectableList {
    /// Reads it. Needs root and debugfs.
    pub fn read() -> Result<Self, RunningError> {
        let text = std::fs::read_to_string(PATH).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound && !is_mounted(DEBUGFS) {
                RunningError::NoDebugfs
            } else {
                RunningError::read(PATH)(error)
            }
        })?;
        Self::parse(&text)
    }

    /// What a kernel without CONFIG_FUNCTION_ERROR_INJECTION has.
    pub fn absent() -> Self {
        Self { entries: Vec::new(), absent: true }
    }

    /// Whether the kernel has no list, and all that is here was added.
    pub fn is_absent(&self) -> bool {
        self.absent
    }

    /// Takes what `lib/error-inject.c: ei_seq_show()` printed.
    pub fn parse(text: &str) -> Result<Self, RunningError> {
        let entries = text.lines().map(parse_line).collect::<Result<_, _>>()?;
        Ok(Self { entries, absent: false })
    }

    /// Adds functions of vmlinux that only fmod_ret can fail, all of them with errors; those that are listed already
    /// stay as they are.
    pub fn extend_by_fmod_ret(&mut self, names: impl IntoIterator<Item = String>) {
        let listed: HashSet<String> = self.entries.iter().map(|entry| entry.name.clone()).collect();
        let new = names.into_iter().filter(|name| !listed.contains(name));
        self.entries.extend(new.map(|name| Injectable {
            name,
            module: None,
            error_type: ErrorType::Errno,
            fmod_ret_only: true,
        }));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Injectable> {
        self.entries.iter()
    }

    /// The entry for a function, under this or another name of the same address.
    ///
    /// The kernel prints one name an entry, though several symbols can share the address: `__do_sys_X` and
    /// `__x64_sys_X`, for instance.
    pub fn find(&self, name: &str, symbols: &Symbols) -> Option<&Injectable> {
        self.entries.iter().find(|entry| entry.name == name).or_else(|| {
            let wanted: Vec<u64> = symbols
                .named(name)
                .filter(|symbol| symbol.is_function() && symbol.address != 0)
                .map(|symbol| symbol.address)
                .collect();
            let [wanted] = wanted[..] else { return None };
            let aliases: Vec<&str> = symbols
                .iter()
                .filter(|symbol| symbol.address == wanted && symbol.is_function())
                .map(|symbol| symbol.name)
                .collect();
            self.entries.iter().find(|entry| aliases.contains(&entry.name.as_str()))
        })
    }
}

fn parse_line(line: &str) -> Result<Injectable, RunningError> {
    let unknown = || RunningError::Format { path: PATH.into(), what: format!("the line '{line}'") };
    let mut words = line.split_ascii_whitespace();
    let name = words.next().ok_or_else(unknown)?.to_owned();
    let mut last = words.next().ok_or_else(unknown)?;
    let module = last.strip_prefix('[').and_then(|word| word.strip_suffix(']')).map(str::to_owned);
    if module.is_some() {
        last = words.next().ok_or_else(unknown)?;
    }
    let error_type = last.parse().map_err(|_| unknown())?;
    Ok(Injectable { name, module, error_type, fmod_ret_only: false })
}

/// Whether something is mounted there: its device differs from its parent's.
fn is_mounted(path: &str) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    let path = Path::new(path);
    match (device(path), path.parent().and_then(device)) {
        (Some(own), Some(parent)) => own != parent,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_and_without_a_module_are_read() {
        let text = "should_failslab\tERRNO\nopen_ctree [btrfs]\tERRNO\nkeyed [m]\tTRUE\n";
        let list = InjectableList::parse(text).unwrap();
        let entries: Vec<_> = list.iter().collect();
        assert_eq!(entries[0].module, None);
        assert_eq!(entries[1].module.as_deref(), Some("btrfs"));
        assert_eq!(entries[2].error_type, ErrorType::True);
    }

    #[test]
    fn a_line_of_an_unknown_kind_is_an_error_that_quotes_it() {
        for text in ["f\tSOMETHING\n", "f\n", "f [m]\n"] {
            let error = InjectableList::parse(text).unwrap_err().to_string();
            assert!(error.contains(text.trim()), "{error}");
        }
    }

    #[test]
    fn a_function_is_found_under_every_name_of_its_address() {
        let symbols = Symbols::parse(
            "ffffffff81000010 t __do_sys_mount\nffffffff81000010 T __x64_sys_mount\n\
             ffffffff81000020 t twice\nffffffff81000030 t twice\n"
                .to_owned(),
        );
        let list = InjectableList::parse("__do_sys_mount\tERRNO\n").unwrap();
        assert!(list.find("__do_sys_mount", &symbols).is_some());
        assert!(list.find("__x64_sys_mount", &symbols).is_some());
        assert!(list.find("twice", &symbols).is_none());
    }
}
