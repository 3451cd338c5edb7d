//! The ELF file under an image: addresses to bytes, and symbols.
//!
//! Everything that the tables say is checked once, in [`File::parse`]; what is left for later is what the caller asks
//! for: an address, a name. The debug sections, most of the file, are never touched.

use std::{borrow::Cow, ops::Range};

use object::{
    LittleEndian as LE, elf,
    pod::slice_from_all_bytes,
    read::elf::{FileHeader as _, SectionHeader as _},
};

use super::{
    ImageError,
    bytes::Bytes,
    dynamic,
    format::{self, Machine},
    lent::Lent,
    module,
    section::{self, MAX_SECTIONS, Section},
};

pub(super) type Header = elf::FileHeader64<LE>;
pub(super) type Symbol = elf::Sym64<LE>;

/// Longer symbol names are taken for damage. It is the kernel's own limit: `KSYM_NAME_LEN` in
/// `include/linux/kallsyms.h`.
const MAX_NAME: usize = 512;

/// A checked ELF file: little-endian, linked (a module by us), with every section inside the file.
pub(super) struct File<'a> {
    pub(super) name: String,
    pub(super) machine: Machine,
    /// Its addresses are ours: see [`module`].
    pub(super) is_module: bool,
    bytes: Bytes<'a>,
    /// In the order of the file, the null section left out.
    sections: Vec<Section>,
    /// Indices into `sections` of those that have addresses, by address; no two overlap.
    mapped: Vec<usize>,
    /// Where the symbol table and its strings are in the file; empty in a stripped one.
    symbols: Range<usize>,
    strings: Range<usize>,
    /// In the place of those.
    lent: Option<Lent>,
    /// Where arm64 keeps addresses that its data lacks; see [`dynamic`].
    relocations: Vec<Range<usize>>,
}

impl<'a> File<'a> {
    pub(super) fn parse(name: String, bytes: Bytes<'a>) -> Result<Self, ImageError> {
        let data: &[u8] = &bytes;
        let (header, machine) = format::check(&name, data)?;
        let headers = section_headers(&name, header, data)?;
        let mut sections = section::read_all(&name, header, headers, data)?;
        let (mut symbols, mut strings) = symbol_table(&name, headers, &sections, data)?;
        let is_module = header.e_type.get(LE) == elf::ET_REL;
        let relocations =
            if is_module { Vec::new() } else { dynamic::tables(machine, headers, &sections) };
        let linked = if is_module {
            let tables = (&mut symbols, &mut strings);
            Some(module::link(&name, machine, headers, &mut sections, tables, data)?)
        } else {
            None
        };
        let bytes = linked.map_or(bytes, Bytes::Owned);
        let mapped = section::by_address(&name, &sections)?;
        Ok(Self {
            name,
            machine,
            is_module,
            bytes,
            sections,
            mapped,
            symbols,
            strings,
            lent: None,
            relocations,
        })
    }

    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The bytes of a section in the file; none for `.bss` and its like.
    pub(super) fn section_bytes(&self, section: &Section) -> &[u8] {
        &self.bytes[section.file.clone()]
    }

    /// The section with `address` in it.
    pub(super) fn section_at(&self, address: u64) -> Option<&Section> {
        let after = self.mapped.partition_point(|&i| self.sections[i].address <= address);
        let section = &self.sections[self.mapped[after.checked_sub(1)?]];
        (address < section.end()).then_some(section)
    }

    /// `length` bytes at `address`, which may not reach into another section. `what` names them in the error.
    ///
    /// None where they have no bytes in the file because all are 0 at boot (`.bss`).
    pub(super) fn read(
        &self,
        what: &str,
        address: u64,
        length: u64,
    ) -> Result<Option<Cow<'_, [u8]>>, ImageError> {
        let unmapped = || ImageError::Unmapped {
            name: self.name.clone(),
            what: what.to_owned(),
            address,
            length,
        };
        let section = self.section_at(address).ok_or_else(unmapped)?;
        if length > section.end() - address {
            return Err(unmapped());
        }
        if section.zeroed {
            return Ok(None);
        }
        // Both fit: the section is inside the file.
        let start = (address - section.address) as usize;
        let bytes = self.section_bytes(section).get(start..start + length as usize);
        let tables = self.relocations.iter().map(|table| &self.bytes[table.clone()]);
        Ok(bytes.map(|bytes| dynamic::apply(tables, address, bytes)))
    }

    /// The error for something wrong at `address`, told as section and offset.
    pub(super) fn malformed(&self, address: u64, problem: impl Into<String>) -> ImageError {
        let (section, offset) = match self.section_at(address) {
            Some(section) => (section.name.as_str(), address - section.address),
            None => ("no section", address),
        };
        ImageError::Malformed {
            name: self.name.clone(),
            section: section.to_owned(),
            offset,
            problem: problem.into(),
        }
    }

    /// All symbols, the null symbol included; none in a stripped file.
    pub(super) fn symbols(&self) -> &[Symbol] {
        if let Some(lent) = &self.lent {
            return &lent.symbols;
        }
        // parse() has seen that this cast works.
        slice_from_all_bytes(&self.bytes[self.symbols.clone()]).unwrap_or_default()
    }

    /// Takes symbols from elsewhere.
    pub(super) fn lend(&mut self, lent: Lent) {
        self.lent = Some(lent);
    }

    /// Whether the symbols come from elsewhere.
    pub(super) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// A symbol's name; None if it has none, or one that no kernel symbol can have.
    pub(super) fn symbol_name(&self, symbol: &Symbol) -> Option<&str> {
        let rest = self.name_and_more(symbol)?;
        let rest = &rest[..rest.len().min(MAX_NAME)];
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok().filter(|name| !name.is_empty())
    }

    /// Whether a symbol's name starts with `prefix`; cheaper than [`Self::symbol_name`] where few do.
    pub(super) fn name_starts_with(&self, symbol: &Symbol, prefix: &str) -> bool {
        self.name_and_more(symbol).is_some_and(|rest| rest.starts_with(prefix.as_bytes()))
    }

    /// The defined symbol of this name; a global one before local ones.
    pub(super) fn symbol(&self, name: &str) -> Option<&Symbol> {
        let mut found = None;
        for symbol in self.symbols().iter().filter(|symbol| is_defined(symbol)) {
            let rest = self.name_and_more(symbol);
            let same = rest.and_then(|rest| rest.strip_prefix(name.as_bytes()));
            if same.is_none_or(|rest| rest.first() != Some(&0)) {
                continue;
            }
            if symbol.st_bind() == elf::STB_GLOBAL {
                return Some(symbol);
            }
            found = found.or(Some(symbol));
        }
        found
    }

    fn name_and_more(&self, symbol: &Symbol) -> Option<&[u8]> {
        let strings = match &self.lent {
            Some(lent) => &lent.strings,
            None => &self.bytes[self.strings.clone()],
        };
        strings.get(symbol.st_name.get(LE) as usize..)
    }
}

pub(super) fn is_defined(symbol: &Symbol) -> bool {
    symbol.st_shndx.get(LE) != elf::SHN_UNDEF
}

/// The section headers; they stand at the end of a vmlinux, so that nearly every truncated copy is found out here.
fn section_headers<'d>(
    name: &str,
    header: &Header,
    data: &'d [u8],
) -> Result<&'d [elf::SectionHeader64<LE>], ImageError> {
    let start = header.e_shoff.get(LE);
    let size = u64::from(header.e_shnum.get(LE)) * size_of::<elf::SectionHeader64<LE>>() as u64;
    let end = start.saturating_add(size);
    if end > data.len() as u64 {
        return Err(ImageError::Truncated {
            name: name.to_owned(),
            section: "the section header table".to_owned(),
            end,
            length: data.len() as u64,
        });
    }
    let problem = match header.section_headers(LE, data) {
        Ok([]) => "there are no section headers".to_owned(),
        Ok(headers) if headers.len() > MAX_SECTIONS => {
            format!("{} sections are more than any kernel has", headers.len())
        }
        Ok(headers) => return Ok(headers),
        Err(error) => error.to_string(),
    };
    Err(ImageError::Malformed {
        name: name.to_owned(),
        section: "the ELF header".to_owned(),
        offset: 0,
        problem,
    })
}

/// Where the symbols and their strings are; two empty ranges if the file is stripped.
fn symbol_table(
    name: &str,
    headers: &[elf::SectionHeader64<LE>],
    sections: &[Section],
    data: &[u8],
) -> Result<(Range<usize>, Range<usize>), ImageError> {
    let is_table = |header: &elf::SectionHeader64<LE>| header.sh_type.get(LE) == elf::SHT_SYMTAB;
    let Some(index) = headers.iter().position(is_table) else {
        return Ok((0..0, 0..0));
    };
    let malformed = |problem: String| ImageError::Malformed {
        name: name.to_owned(),
        section: ".symtab".to_owned(),
        offset: 0,
        problem,
    };
    // `sections` lacks the null section, hence the difference of one.
    let at = |index: usize| index.checked_sub(1).and_then(|i| sections.get(i));
    let table = at(index).map_or(0..0, |section| section.file.clone());
    slice_from_all_bytes::<Symbol>(&data[table.clone()])
        .map_err(|()| malformed(format!("{} bytes are no array of symbols", table.len())))?;
    let link = headers[index].sh_link(LE);
    let strings = at(link as usize)
        .filter(|_| headers[link as usize].sh_type(LE) == elf::SHT_STRTAB)
        .ok_or_else(|| malformed(format!("section {link} is not its string table")))?;
    Ok((table, strings.file.clone()))
}

#[cfg(test)]
mod tests;
