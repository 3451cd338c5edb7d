//! Is this a file that can be read? If not, what is it?

use object::{LittleEndian as LE, elf, read::elf::FileHeader as _};

use super::{ImageError, elf::Header};

/// Where arm64 `Image` files carry `ARM\x64` (`Documentation/arch/arm64/booting.rst`).
const ARM64_BOOT_MAGIC: (usize, &[u8]) = (0x38, b"ARM\x64");
/// Where compressed EFI images carry `zimg` (`drivers/firmware/efi/libstub/zboot-header.S`).
const EFI_ZBOOT_MAGIC: (usize, &[u8]) = (4, b"zimg");

/// Machines whose images are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    X86_64,
    /// Whitelist and keys only.
    Arm64,
}

/// Checks that `data` starts an ELF file of a kind that is supported, and returns its header.
pub(super) fn check<'d>(name: &str, data: &'d [u8]) -> Result<(&'d Header, Machine), ImageError> {
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
    let machine = match header.e_machine.get(LE) {
        elf::EM_X86_64 => Machine::X86_64,
        elf::EM_AARCH64 => Machine::Arm64,
        other => return Err(unsupported(&format!("an ELF file for machine {}", other.0))),
    };
    match (header.e_type.get(LE), machine) {
        // arm64 kernels are linked as shared objects, so that they can be moved.
        (elf::ET_EXEC | elf::ET_REL, _) | (elf::ET_DYN, Machine::Arm64) => Ok((header, machine)),
        (elf::ET_CORE, _) => Err(unsupported("a memory dump")),
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
    let kind = if has(ARM64_BOOT_MAGIC) {
        "an arm64 boot image"
    } else if has(EFI_ZBOOT_MAGIC) {
        "a compressed EFI image"
    } else {
        return ImageError::NotAnImage { name };
    };
    ImageError::Unsupported { name, kind: kind.to_owned() }
}
