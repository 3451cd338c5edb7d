//! What can be wrong with a kernel image.

use std::{io, path::PathBuf};

/// Why a kernel image could not be read. Each text names the file and says what to do.
///
/// Offsets are in bytes from the start of the section; `section` may also be a part of the file that is no section,
/// such as "ELF header".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file could not be opened or mapped.
    #[error("cannot read {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },

    /// Neither ELF nor any form of kernel image that this program recognises.
    #[error("{name} is not a kernel image; give a vmlinux, a vmlinuz or a module (.ko)")]
    NotAnImage { name: String },

    /// A compressed image in a format that is not read.
    #[error(
        "{name} is compressed with {format}, which is not supported (gzip, xz, zstd and lz4 are); decompress it, and give the result"
    )]
    Compressed { name: String, format: &'static str },

    /// What is compressed does not decompress.
    #[error("{name}: its {format} data cannot be decompressed: {problem}; copy it again")]
    Decompress { name: String, format: &'static str, problem: String },

    /// A proper file, of a kind that is not read (yet).
    #[error(
        "{name} is {kind}, which is not supported; use the vmlinux, vmlinuz or .ko of an x86-64 kernel"
    )]
    Unsupported { name: String, kind: String },

    /// The file ends before something that its own tables place in it.
    #[error(
        "{name} is truncated: {section} ends at byte {end}, the file has {length}; copy it again"
    )]
    Truncated { name: String, section: String, end: u64, length: u64 },

    /// A copy that `objcopy --only-keep-debug` made: symbols and DWARF, but neither code nor data.
    #[error(
        "{name} holds debug information only (section {section} has no bytes); use the full vmlinux"
    )]
    DebugOnly { name: String, section: String },

    /// Something in the file contradicts itself.
    #[error(
        "{name}: {section}, offset {offset:#x}: {problem}; the file is damaged or not a kernel's"
    )]
    Malformed { name: String, section: String, offset: u64, problem: String },

    /// An address that a symbol or a table names is in no section, or reaches over the end of one.
    #[error(
        "{name}: {what} ({length} bytes at {address:#x}) lies outside the sections; the file is damaged or stripped of them"
    )]
    Unmapped { name: String, what: String, address: u64, length: u64 },

    /// The image has no symbol table, and the question needs one.
    #[error(
        "{name} has no symbols, so {symbol} cannot be found; use an unstripped vmlinux, or ask on the machine that runs this kernel"
    )]
    Stripped { name: String, symbol: &'static str },

    /// The image has no symbol table, and the running kernel does not show this symbol either.
    #[error(
        "{name} has no symbols, and {symbol} is not in /proc/kallsyms (CONFIG_KALLSYMS_ALL is off); use an unstripped vmlinux"
    )]
    NotLent { name: String, symbol: &'static str },

    /// The image has symbols, but not this one.
    #[error("{name} has no symbol {symbol}: built without {option}")]
    NoSymbol { name: String, symbol: &'static str, option: &'static str },

    /// Nothing in the image says how whitelist entries are laid out, and there are no guesses.
    #[error(
        "{name}: the layout of whitelist entries cannot be told: {problem}; use an unstripped vmlinux, or one with CONFIG_DEBUG_INFO_BTF"
    )]
    NoLayout { name: String, problem: String },

    /// BTF and symbols tell different layouts: a mixture of two builds, or a tool's mistake.
    #[error(
        "{name}: BTF says that a whitelist entry has {btf} bytes, the _eil_addr_ symbols say {symbols}; build the kernel anew from a clean tree"
    )]
    LayoutMismatch { name: String, btf: u64, symbols: u64 },
}
