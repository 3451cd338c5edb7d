//! Kernel images as files: what the kernel was built with, read without root and without running it.
//!
//! An [`Image`] is an ELF `vmlinux`, checked when it is opened and read through a memory map only where a question
//! leads. Addresses are those of the file, as linked; the running kernel's are higher by its KASLR slide.
//!
//! What comes out of a file may be damaged or hostile: nothing here panics, follows an unchecked offset or allocates by
//! an unchecked count, and what contradicts itself is an error, not a guess.

mod btf;
mod bytes;
mod calls;
#[cfg(test)]
mod corpus;
mod dynamic;
mod elf;
mod error;
mod error_type;
mod format;
mod identity;
mod index;
mod jump_table;
mod key;
mod layout;
mod lent;
mod module;
mod payload;
mod section;
#[cfg(test)]
mod testing;
mod unpack;
mod whitelist;

use std::{collections::HashSet, ops::Range, path::Path, sync::OnceLock};

use object::{
    LittleEndian as LE,
    elf::{STT_FUNC, STT_OBJECT},
};

pub use self::{
    btf::lsm_hooks,
    calls::{Call, Calls, CloneCalls},
    error::ImageError,
    error_type::{ErrorType, UnknownErrorType},
    jump_table::Site,
    key::Key,
    lent::LentSymbol,
    whitelist::Entry,
};
use self::{bytes::Bytes, elf::File, index::Index};

/// A kernel image. Cheap to open; its methods read what they need and keep only indices of symbols.
pub struct Image<'a> {
    file: File<'a>,
    functions: OnceLock<Index>,
    objects: OnceLock<Index>,
}

impl Image<'static> {
    /// Opens a `vmlinux`, a `vmlinuz` or a module, compressed or not.
    ///
    /// What is not compressed is mapped, not read; the file must not shrink while the image is in use.
    ///
    /// # Errors
    /// [`ImageError::Open`], and everything that [`Image::parse`] reports.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let map = crate::sys::map_file(path)
            .map_err(|source| ImageError::Open { path: path.to_owned(), source })?;
        Self::new(path.display().to_string(), Bytes::Mapped(map))
    }
}

impl<'a> Image<'a> {
    /// Reads an image that is in memory already; `name` stands for it in errors.
    ///
    /// The bytes must be aligned to 8, as those of a map or of a `Vec` of that size are.
    ///
    /// # Errors
    /// [`ImageError::NotAnImage`], [`ImageError::Compressed`], [`ImageError::Unsupported`] for other kinds of files,
    /// [`ImageError::Truncated`], [`ImageError::DebugOnly`], [`ImageError::Malformed`] for bad copies of the right one.
    pub fn parse(name: &str, bytes: &'a [u8]) -> Result<Self, ImageError> {
        Self::new(name.to_owned(), Bytes::Borrowed(bytes))
    }

    fn new(name: String, bytes: Bytes<'a>) -> Result<Self, ImageError> {
        let bytes = match unpack::unpack(&name, &bytes)? {
            Some(unpacked) => Bytes::Owned(unpacked),
            None => bytes,
        };
        Ok(Self {
            file: File::parse(name, bytes)?,
            functions: OnceLock::new(),
            objects: OnceLock::new(),
        })
    }

    /// What the image is called in errors: its path.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// The address of a symbol, as linked. If several have the name, a global one, else the table's first.
    ///
    /// Takes a pass over the symbol table.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.file.symbol(name).map(|symbol| symbol.st_value.get(LE))
    }

    /// Whether it has no symbols, as what is in a `vmlinuz` has none. Then only the running kernel knows its names.
    pub fn is_stripped(&self) -> bool {
        self.file.symbols().is_empty()
    }

    /// Takes the symbols of a stripped image from elsewhere; see [`LentSymbol`].
    pub fn lend_symbols<'s>(&mut self, symbols: impl Iterator<Item = LentSymbol<'s>>) {
        self.file.lend(lent::Lent::new(symbols));
        self.functions = OnceLock::new();
        self.objects = OnceLock::new();
    }

    /// The address of the first byte of code, as linked: the kernel's `_text`.
    pub fn text_start(&self) -> Option<u64> {
        let code = self.file.sections().iter().filter(|section| section.executable);
        code.map(|section| section.address).min()
    }

    /// The addresses of a table's two bounding symbols, which are there if the kernel has `option`. A module has the
    /// table as a section of its own, or an empty one.
    fn bounds(
        &self,
        Table { start, stop, section, option }: Table,
    ) -> Result<Range<u64>, ImageError> {
        if self.file.is_module {
            let table = self.file.sections().iter().find(|s| s.loaded && s.name == section);
            return Ok(table.map_or(0..0, |section| section.address..section.end()));
        }
        let find = |symbol| {
            self.symbol(symbol).ok_or_else(|| {
                let name = self.file.name.clone();
                if self.file.is_lent() {
                    ImageError::NotLent { name, symbol }
                } else if self.file.symbols().is_empty() {
                    ImageError::Stripped { name, symbol }
                } else {
                    ImageError::NoSymbol { name, symbol, option }
                }
            })
        };
        Ok(find(start)?..find(stop)?)
    }

    /// The LSM hooks that return something, by name; they can be failed by fmod_ret, listed or not. None where the image
    /// has no BTF.
    ///
    /// # Errors
    /// [`ImageError::Malformed`] if the BTF is damaged.
    pub fn lsm_hooks(&self) -> Result<Option<Vec<String>>, ImageError> {
        if self.file.is_module {
            return Ok(None);
        }
        btf::lsm_hooks_of(&self.file)
    }

    /// The same as entries, for [`Self::calls`]; those without a function of their own are left out.
    ///
    /// # Errors
    /// As [`Self::lsm_hooks`].
    pub fn lsm_entries(&self) -> Result<Vec<Entry>, ImageError> {
        let hooks: HashSet<String> = self.lsm_hooks()?.unwrap_or_default().into_iter().collect();
        let functions = self.functions().iter(&self.file);
        let mut entries: Vec<_> = functions
            .filter(|(_, name)| name.starts_with("security_") && hooks.contains(*name))
            .map(|(address, name)| Entry {
                address,
                names: vec![name.to_owned()],
                error_type: ErrorType::Errno,
                key: None,
            })
            .collect();
        entries.sort_by(|a, b| a.names.cmp(&b.names));
        Ok(entries)
    }

    /// The module's name, if it is one, from its `.modinfo`.
    pub fn module_name(&self) -> Option<String> {
        if !self.file.is_module {
            return None;
        }
        let section = self.file.sections().iter().find(|section| section.name == ".modinfo")?;
        let info = self.file.section_bytes(section);
        let name = info.split(|&byte| byte == 0).find_map(|line| line.strip_prefix(b"name="))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn functions(&self) -> &Index {
        self.functions.get_or_init(|| Index::new(&self.file, STT_FUNC))
    }

    fn objects(&self) -> &Index {
        self.objects.get_or_init(|| Index::new(&self.file, STT_OBJECT))
    }
}

/// Where a table of the kernel's is.
#[derive(Clone, Copy)]
struct Table {
    /// Symbols of a vmlinux.
    start: &'static str,
    stop: &'static str,
    /// In a module.
    section: &'static str,
    option: &'static str,
}
