//! Is this a file that can be read? If not, what is it?

use object::{LittleEndian as LE, elf, read::elf::FileHeader as _};

use super::{ImageError, elf::Header};

/// Where x86 boot images carry `HdrS` (`Documentation/arch/x86/boot.rst`, field `header`).
const X86_BOOT_MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// Where arm64 `Image` files carry `ARM\x64` (`Documentation/arch/arm64/booting.rst`).
const ARM64_BOOT_MAGIC: (usize, &[u8]) = (0x38, b"ARM\x64");

/// First bytes of compressed files, as they are found around modules and kernel payloads.
const COMPRESSED: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x02\x21\x4c\x18", "lz4"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"BZh", "bzip2"),
    (b"\x89LZO", "lzo"),
];

/// Checks that `data` starts a linked ELF file of a machine that is supported, and returns its header.
pub(super) fn check<'d>(name: &str, data: &'d [u8]) -> Result<&'d Header, ImageError> {
    if !data.starts_with(&elf::ELFMAG) {
        return Err(not_elf(name, data));
    }
    if data.len() < size_of::<Header>() {
        return Err(ImageError::Truncated {
            name: name.to_owned(),
            section: "ELF header".to_owned(),
            end: size_of::<Header>() as u64,
            length: data.len() as u64,
        });
    }
    let unsupported =
        |kind: &str| ImageError::Unsupported { name: name.to_owned(), kind: kind.to_owned() };
    // Class and byte order come first: until they are known to be ours, the header's other fields mean something else.
    if data[elf_ident::CLASS] != elf::ELFCLASS64.0 {
        return Err(unsupported("a 32-bit ELF file"));
    }
    if data[elf_ident::DATA] != elf::ELFDATA2LSB.0 {
        return Err(unsupported("a big-endian ELF file"));
    }
    let header = Header::parse(data).map_err(|error| ImageError::Malformed {
        name: name.to_owned(),
        section: "ELF header".to_owned(),
        offset: 0,
        problem: error.to_string(),
    })?;
    match header.e_machine.get(LE) {
        elf::EM_X86_64 => {}
        elf::EM_AARCH64 => return Err(unsupported("an arm64 ELF file")),
        other => return Err(unsupported(&format!("an ELF file for machine {}", other.0))),
    }
    match header.e_type.get(LE) {
        elf::ET_EXEC => Ok(header),
        elf::ET_REL => Err(unsupported("a kernel module or object file")),
        elf::ET_CORE => Err(unsupported("a memory dump")),
        _ => Err(unsupported("a position-independent ELF file")),
    }
}

/// Positions in `e_ident`.
mod elf_ident {
    pub(super) const CLASS: usize = 4;
    pub(super) const DATA: usize = 5;
}

fn not_elf(name: &str, data: &[u8]) -> ImageError {
    let has = |(at, magic): (usize, &[u8])| data.get(at..).is_some_and(|d| d.starts_with(magic));
    let name = name.to_owned();
    if has(X86_BOOT_MAGIC) {
        return ImageError::Compressed { name, format: "vmlinuz" };
    }
    if has(ARM64_BOOT_MAGIC) {
        return ImageError::Unsupported { name, kind: "an arm64 boot image".to_owned() };
    }
    match COMPRESSED.iter().find(|(magic, _)| has((0, magic))) {
        Some(&(_, format)) => ImageError::Compressed { name, format },
        None => ImageError::NotAnImage { name },
    }
}
