//! The section table, checked.

use std::ops::Range;

use object::{
    LittleEndian as LE, elf,
    read::elf::{FileHeader as _, SectionHeader as _},
};

use super::{ImageError, elf::Header};

type SectionHeader = elf::SectionHeader64<LE>;

/// A vmlinux has some dozens. The bound keeps the table that a hostile file can ask for small.
pub(super) const MAX_SECTIONS: usize = 0xffff;
/// A longer section name is cut; the kernel's longest has some 30 bytes.
const MAX_NAME: usize = 64;

/// One section: a stretch of addresses and a stretch of the file.
pub(super) struct Section {
    pub(super) name: String,
    /// 0 for sections that are not loaded.
    pub(super) address: u64,
    pub(super) size: u64,
    /// Inside the file; empty if the section has no bytes in it.
    pub(super) file: Range<usize>,
    pub(super) align: u64,
    /// Occupies addresses (`SHF_ALLOC`).
    pub(super) loaded: bool,
    pub(super) executable: bool,
    /// Without bytes in the file (`SHT_NOBITS`).
    pub(super) zeroed: bool,
    pub(super) note: bool,
}

impl Section {
    /// The address after the last; read_all() has seen that it does not overflow.
    pub(super) fn end(&self) -> u64 {
        self.address + self.size
    }
}

/// Every section but the null section, in the file's order.
pub(super) fn read_all(
    name: &str,
    header: &Header,
    headers: &[SectionHeader],
    data: &[u8],
) -> Result<Vec<Section>, ImageError> {
    let strings = header
        .section_strings_index(LE, data)
        .ok()
        .and_then(|index| headers.get(index.0)?.data(LE, data).ok())
        .unwrap_or_default();
    let name_of = |index: usize, header: &SectionHeader| {
        cut(strings, header.sh_name.get(LE)).unwrap_or_else(|| format!("section {index}"))
    };
    headers
        .iter()
        .enumerate()
        .skip(1)
        .map(|(index, header)| read(name, name_of(index, header), header, data))
        .collect()
}

/// The name at `offset`. It is cut before its end is looked for: names cost no more than there are sections.
fn cut(strings: &[u8], offset: u32) -> Option<String> {
    let rest = strings.get(offset as usize..)?;
    let name = rest[..rest.len().min(MAX_NAME)].split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn read(
    file: &str,
    name: String,
    header: &SectionHeader,
    data: &[u8],
) -> Result<Section, ImageError> {
    let size = header.sh_size.get(LE);
    let address = header.sh_addr.get(LE);
    let kind = header.sh_type.get(LE);
    let loaded = header.sh_flags.get(LE).contains(elf::SHF_ALLOC);
    let executable = loaded && header.sh_flags.get(LE).contains(elf::SHF_EXECINSTR);
    let zeroed = kind == elf::SHT_NOBITS;

    if executable && zeroed && size > 0 {
        return Err(ImageError::DebugOnly { name: file.to_owned(), section: name });
    }
    if address.checked_add(size).is_none() {
        return Err(ImageError::Malformed {
            name: file.to_owned(),
            section: name,
            offset: 0,
            problem: format!("{size:#x} bytes at {address:#x} pass the end of memory"),
        });
    }
    let bytes = if zeroed || kind == elf::SHT_NULL {
        0..0
    } else {
        let start = header.sh_offset.get(LE);
        let end = start.saturating_add(size);
        if end > data.len() as u64 {
            return Err(ImageError::Truncated {
                name: file.to_owned(),
                section: format!("section {name}"),
                end,
                length: data.len() as u64,
            });
        }
        start as usize..end as usize
    };
    Ok(Section {
        name,
        address,
        size,
        file: bytes,
        align: header.sh_addralign.get(LE),
        loaded,
        executable,
        zeroed,
        note: kind == elf::SHT_NOTE,
    })
}

/// The indices of the loaded sections by address. Overlapping ones are an error: an address would have two meanings.
pub(super) fn by_address(file: &str, sections: &[Section]) -> Result<Vec<usize>, ImageError> {
    let mut mapped: Vec<usize> =
        (0..sections.len()).filter(|&i| sections[i].loaded && sections[i].size > 0).collect();
    mapped.sort_by_key(|&i| sections[i].address);
    for pair in mapped.windows(2) {
        let (one, next) = (&sections[pair[0]], &sections[pair[1]]);
        if next.address < one.end() {
            return Err(ImageError::Malformed {
                name: file.to_owned(),
                section: next.name.clone(),
                offset: 0,
                problem: format!("it overlaps section {}", one.name),
            });
        }
    }
    Ok(mapped)
}
