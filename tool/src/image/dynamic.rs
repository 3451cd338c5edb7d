//! Addresses that a position-independent kernel keeps beside its data.
//!
//! arm64 kernels move themselves at boot: where an address is to be, the file has 0, and `.rela.dyn` has the place and
//! the address (`arch/arm64/kernel/vmlinux.lds.S`; the linker is told `--no-apply-dynamic-relocs`). With `.relr.dyn`
//! the data has the address itself.

use std::{borrow::Cow, ops::Range};

use object::{
    LittleEndian as LE,
    elf::{self, Rela64},
    pod::slice_from_all_bytes,
};

use super::{format::Machine, section::Section};

/// Where the relocations of a linked file are in it; none on machines that need none.
pub(super) fn tables(
    machine: Machine,
    headers: &[elf::SectionHeader64<LE>],
    sections: &[Section],
) -> Vec<Range<usize>> {
    if machine != Machine::Arm64 {
        return Vec::new();
    }
    // `sections` lacks the null section.
    headers
        .iter()
        .skip(1)
        .zip(sections)
        .filter(|(header, section)| header.sh_type.get(LE) == elf::SHT_RELA && section.loaded)
        .map(|(_, section)| section.file.clone())
        .collect()
}

/// The bytes at `address` with every relocation in place that lies within them.
pub(super) fn apply<'d>(
    tables: impl Iterator<Item = &'d [u8]>,
    address: u64,
    bytes: &'d [u8],
) -> Cow<'d, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    for table in tables {
        // What is no table of relocations relocates nothing.
        for relocation in slice_from_all_bytes::<Rela64<LE>>(table).unwrap_or_default() {
            if relocation.r_type(LE, false) != elf::R_AARCH64_RELATIVE {
                continue;
            }
            let Some(at) = relocation.r_offset.get(LE).checked_sub(address) else { continue };
            let Some(end) = at.checked_add(8).filter(|end| *end <= bytes.len() as u64) else {
                continue;
            };
            let value = relocation.r_addend.get(LE).to_le_bytes();
            bytes.to_mut()[at as usize..end as usize].copy_from_slice(&value);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use object::elf::{EM_AARCH64, ET_DYN, SHF_ALLOC, SHT_RELA};

    use crate::image::{
        Image,
        testing::{BSS, INIT_DATA, Kernel, TEXT, entry24, rela},
    };

    const RELATIVE: u64 = 1027;
    const RELA_DYN: u64 = 0xffff_ffff_8700_0000;

    /// A kernel of arm64: its whitelist has zeros for addresses.
    fn arm64(relocations: &[(u64, u64, i64)]) -> Vec<u8> {
        let mut kernel = Kernel::new();
        kernel
            .machine(EM_AARCH64)
            .kind(ET_DYN)
            .function("alloc_it", TEXT, 16)
            .function("free_it", TEXT + 16, 16)
            .object("alloc_it_active", BSS + 64, 16)
            .whitelist(24, &[("alloc_it", entry24(0, 0, 2)), ("free_it", entry24(0, 0, 4))])
            .section(".rela.dyn", SHT_RELA, SHF_ALLOC, RELA_DYN, rela(relocations));
        kernel.build()
    }

    #[test]
    fn whitelist_and_keys_of_an_arm64_kernel_come_from_its_relocations() {
        let bytes = arm64(&[
            (INIT_DATA + 24, RELATIVE, (TEXT + 16) as i64),
            (INIT_DATA, RELATIVE, TEXT as i64),
            (INIT_DATA + 8, RELATIVE, (BSS + 64) as i64),
            (TEXT, RELATIVE, 7),
            // Half inside, and of another kind.
            (INIT_DATA + 44, RELATIVE, -1),
            (INIT_DATA + 32, 1026, -1),
        ]);
        let image = Image::parse("vmlinux", &bytes).unwrap();
        let entries = image.whitelist().unwrap();
        assert_eq!(entries[0].names, ["alloc_it"]);
        assert_eq!(entries[0].key.as_ref().unwrap().name, "alloc_it_active");
        assert_eq!(entries[1].names, ["free_it"]);
        assert_eq!(entries[1].key, None);
    }

    #[test]
    fn without_relocations_its_zeros_are_no_functions() {
        let error = Image::parse("vmlinux", &arm64(&[])).unwrap().whitelist().unwrap_err();
        assert!(error.to_string().contains("names 0x0, which is no code"), "{error}");
    }
}
