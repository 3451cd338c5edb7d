//! Kernel modules: object files, linked here as the kernel links them when it loads one.
//!
//! Sections get addresses one after the other, relocations are put in (`apply_relocate_add()` in
//! `arch/x86/kernel/module.c`), and what is left reads like a linked image. Symbols that others define get places of
//! their own in a section that is called `extern`.

use std::ops::Range;

use object::{
    LittleEndian as LE,
    elf::{self, Rela64, SymbolInfo},
    pod::{bytes_of_slice, slice_from_all_bytes},
};

use super::{ImageError, elf::Symbol, format::Machine, section::Section};

type SectionHeader = elf::SectionHeader64<LE>;

/// Where the first section goes: where x86-64 loads modules. The last one ends long before the end of memory.
const BASE: u64 = 0xffff_ffff_c000_0000;
/// More is damage: modules live in less than 1 GiB.
const MAX_SIZE: u64 = 1 << 29;
const MAX_ALIGN: u64 = 1 << 16;
/// Each foreign symbol has that many bytes.
const EXTERN_SIZE: u64 = 16;

/// Links the module: its sections get addresses and places in the bytes that are returned, which hold what is loaded,
/// the symbols and their names.
pub(super) fn link(
    name: &str,
    machine: Machine,
    headers: &[SectionHeader],
    sections: &mut Vec<Section>,
    (symbols, strings): (&mut Range<usize>, &mut Range<usize>),
    data: &[u8],
) -> Result<Vec<u8>, ImageError> {
    let mut end = place(name, sections)?;
    let mut table = slice_from_all_bytes::<Symbol>(&data[symbols.clone()])
        .map(<[Symbol]>::to_vec)
        .unwrap_or_default();
    let externs = end;
    for symbol in &mut table {
        resolve(symbol, sections, &mut end);
    }

    let mut bytes = Vec::new();
    for section in &mut *sections {
        section.file = if section.loaded || section.note {
            append(&mut bytes, &data[section.file.clone()])
        } else {
            0..0
        };
    }
    *strings = append(&mut bytes, &data[strings.clone()]);
    *symbols = append(&mut bytes, bytes_of_slice(&table));
    // The null section's header says nothing, and nobody has checked it.
    let checked = headers.iter().skip(1);
    for header in checked.filter(|header| header.sh_type.get(LE) == elf::SHT_RELA) {
        // `sections` lacks the null section, hence the difference of one.
        let target = (header.sh_info.get(LE) as usize).checked_sub(1).and_then(|i| sections.get(i));
        let Some(target) = target.filter(|section| section.loaded && !section.zeroed) else {
            continue;
        };
        let start = header.sh_offset.get(LE) as usize;
        // read_all() has seen that it is in the file.
        let relocations = &data[start..start + header.sh_size.get(LE) as usize];
        let at = &mut bytes[target.file.clone()];
        relocate(machine, target, relocations, &table, at).map_err(|(offset, problem)| {
            ImageError::Malformed {
                name: name.to_owned(),
                section: target.name.clone(),
                offset,
                problem,
            }
        })?;
    }
    sections.push(Section {
        name: "extern".to_owned(),
        address: externs,
        size: end - externs,
        file: 0..0,
        align: EXTERN_SIZE,
        loaded: true,
        executable: false,
        zeroed: true,
        note: false,
    });
    Ok(bytes)
}

/// Gives addresses to the sections that are loaded, and returns the one after the last.
fn place(name: &str, sections: &mut [Section]) -> Result<u64, ImageError> {
    let mut next = BASE;
    for section in sections.iter_mut().filter(|section| section.loaded) {
        if section.align > MAX_ALIGN || section.size > MAX_SIZE || next > BASE + MAX_SIZE {
            return Err(ImageError::Malformed {
                name: name.to_owned(),
                section: section.name.clone(),
                offset: 0,
                problem: format!("{:#x} bytes are more than modules have", section.size),
            });
        }
        section.address = next.next_multiple_of(section.align.max(16));
        next = section.end();
    }
    Ok(next.next_multiple_of(EXTERN_SIZE))
}

/// Makes a symbol's value an address. A foreign one becomes an object at `next`.
fn resolve(symbol: &mut Symbol, sections: &[Section], next: &mut u64) {
    let index = symbol.st_shndx.get(LE);
    if index == elf::SHN_ABS {
        return;
    }
    let section = (index.0 as usize).checked_sub(1).and_then(|i| sections.get(i));
    match section.filter(|section| section.loaded) {
        Some(section) => {
            let value = section.address.wrapping_add(symbol.st_value.get(LE));
            symbol.st_value.set(LE, value);
        }
        // Symbols of sections that are not loaded; and the null symbol, which has no name.
        None if index != elf::SHN_UNDEF || symbol.st_name.get(LE) == 0 => {
            symbol.st_shndx.set(LE, elf::SHN_UNDEF);
            symbol.st_value.set(LE, 0);
        }
        None => {
            symbol.st_value.set(LE, *next);
            symbol.st_size.set(LE, EXTERN_SIZE);
            symbol.st_info = SymbolInfo::new(elf::STB_LOCAL, elf::STT_OBJECT);
            symbol.st_shndx.set(LE, elf::SHN_ABS);
            *next += EXTERN_SIZE;
        }
    }
}

/// Appends, aligned for any structure.
fn append(bytes: &mut Vec<u8>, more: &[u8]) -> Range<usize> {
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let start = bytes.len();
    bytes.extend(more);
    start..bytes.len()
}

/// What a relocation writes.
enum Write {
    Nothing,
    /// The value, in that many bytes.
    Absolute(usize),
    /// The value's distance from the place, in that many bytes.
    Relative(usize),
}

fn write_of(machine: Machine, kind: elf::RelocationType) -> Option<Write> {
    use Write::{Absolute, Nothing, Relative};
    Some(match (machine, kind) {
        (Machine::X86_64, elf::R_X86_64_NONE) => Nothing,
        (Machine::X86_64, elf::R_X86_64_64) => Absolute(8),
        (Machine::X86_64, elf::R_X86_64_32 | elf::R_X86_64_32S) => Absolute(4),
        (Machine::X86_64, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32) => Relative(4),
        (Machine::X86_64, elf::R_X86_64_PC64) => Relative(8),
        (Machine::X86_64, _) => return None,
        (Machine::Arm64, elf::R_AARCH64_ABS64) => Absolute(8),
        (Machine::Arm64, elf::R_AARCH64_ABS32) => Absolute(4),
        (Machine::Arm64, elf::R_AARCH64_PREL32) => Relative(4),
        (Machine::Arm64, elf::R_AARCH64_PREL64) => Relative(8),
        // The others are parts of instructions, which are not read.
        (Machine::Arm64, _) => Nothing,
    })
}

/// Puts relocations into the bytes of `section`. An error is an offset and a problem.
fn relocate(
    machine: Machine,
    section: &Section,
    relocations: &[u8],
    symbols: &[Symbol],
    bytes: &mut [u8],
) -> Result<(), (u64, String)> {
    let relocations = slice_from_all_bytes::<Rela64<LE>>(relocations)
        .map_err(|()| (0, "its relocations are no array of them".to_owned()))?;
    for relocation in relocations {
        let offset = relocation.r_offset.get(LE);
        let kind = relocation.r_type(LE, false);
        let write = write_of(machine, kind)
            .ok_or_else(|| (offset, format!("no module has relocations of type {}", kind.0)))?;
        let index = relocation.r_sym(LE, false);
        let symbol = symbols.get(index as usize).ok_or_else(|| {
            (offset, format!("it is relocated by symbol {index}, of which there is none"))
        })?;
        let value = symbol.st_value.get(LE).wrapping_add_signed(relocation.r_addend.get(LE));
        let place = section.address.wrapping_add(offset);
        let (value, size) = match write {
            Write::Nothing => continue,
            Write::Absolute(size) => (value, size),
            Write::Relative(size) => (value.wrapping_sub(place), size),
        };
        let to = usize::try_from(offset)
            .ok()
            .and_then(|start| bytes.get_mut(start..start.checked_add(size)?))
            .ok_or_else(|| (offset, "a relocation lies outside the section".to_owned()))?;
        to.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
