//! Small kernels for tests: ELF files with the few sections and symbols that a test is about.

use object::{
    Endianness,
    elf::{self, SectionFlags, SectionType, SymbolBind, SymbolType},
    write::elf::{FileHeader, SectionHeader, Sym, Writer},
};

pub(super) const TEXT: u64 = 0xffff_ffff_8100_0000;
pub(super) const INIT_TEXT: u64 = 0xffff_ffff_8200_0000;
pub(super) const INIT_DATA: u64 = 0xffff_ffff_8300_0000;
pub(super) const DATA: u64 = 0xffff_ffff_8400_0000;
pub(super) const BSS: u64 = 0xffff_ffff_8500_0000;

/// Bytes of code, data and .bss that every test kernel has.
pub(super) const SIZE: u64 = 0x1000;

struct TestSection {
    name: &'static str,
    kind: SectionType,
    flags: SectionFlags,
    address: u64,
    /// Of a section without bytes.
    size: u64,
    bytes: Vec<u8>,
    /// Of a section of relocations: the one that they are for.
    info: u32,
}

struct TestSymbol {
    name: String,
    kind: SymbolType,
    bind: SymbolBind,
    /// None: an address of its own.
    section: Option<u16>,
    address: u64,
    size: u64,
}

/// A kernel in the making. [`Kernel::new`] has code, data and .bss; the rest is added.
pub(super) struct Kernel {
    machine: elf::Machine,
    kind: elf::FileType,
    endian: Endianness,
    sections: Vec<TestSection>,
    symbols: Vec<TestSymbol>,
}

impl Kernel {
    pub(super) fn new() -> Self {
        Self::sized(SIZE)
    }

    /// The same with 64 bytes of each.
    pub(super) fn small() -> Self {
        Self::sized(64)
    }

    fn sized(size: u64) -> Self {
        let mut kernel = Self::empty(elf::ET_EXEC);
        let code = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
        let nops = || vec![0x90; size as usize];
        kernel.section(".text", elf::SHT_PROGBITS, code, TEXT, nops());
        kernel.section(".init.text", elf::SHT_PROGBITS, code, INIT_TEXT, nops());
        kernel.data(".data", DATA, vec![0; size as usize]);
        kernel.section(".bss", elf::SHT_NOBITS, elf::SHF_ALLOC | elf::SHF_WRITE, BSS, Vec::new());
        kernel.resize_last(size);
        kernel
    }

    /// No section and no symbol.
    pub(super) fn empty(kind: elf::FileType) -> Self {
        Self {
            machine: elf::EM_X86_64,
            kind,
            endian: Endianness::Little,
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    pub(super) fn machine(&mut self, machine: elf::Machine) -> &mut Self {
        self.machine = machine;
        self
    }

    pub(super) fn kind(&mut self, kind: elf::FileType) -> &mut Self {
        self.kind = kind;
        self
    }

    pub(super) fn big_endian(&mut self) -> &mut Self {
        self.endian = Endianness::Big;
        self
    }

    pub(super) fn section(
        &mut self,
        name: &'static str,
        kind: SectionType,
        flags: SectionFlags,
        address: u64,
        bytes: Vec<u8>,
    ) -> &mut Self {
        self.sections.push(TestSection {
            name,
            kind,
            flags,
            address,
            size: bytes.len() as u64,
            bytes,
            info: 0,
        });
        self
    }

    /// Gives the last section, one without bytes, a size.
    pub(super) fn resize_last(&mut self, size: u64) -> &mut Self {
        self.sections.last_mut().unwrap().size = size;
        self
    }

    /// Relocations for the section with that number: place, kind and addend, and the symbol's number in the upper half
    /// of the kind.
    pub(super) fn relocations(
        &mut self,
        section: u32,
        relocations: &[(u64, u64, i64)],
    ) -> &mut Self {
        let flags = SectionFlags(0);
        self.section(".rela", elf::SHT_RELA, flags, 0, rela(relocations));
        self.sections.last_mut().unwrap().info = section;
        self
    }

    /// A symbol in the section with that number; 0: somebody else's.
    pub(super) fn symbol_in(
        &mut self,
        section: u16,
        name: &str,
        kind: SymbolType,
        value: u64,
        size: u64,
    ) -> &mut Self {
        self.symbol(name, kind, elf::STB_LOCAL, value, size);
        self.symbols.last_mut().unwrap().section = Some(section);
        self
    }

    pub(super) fn data(&mut self, name: &'static str, address: u64, bytes: Vec<u8>) -> &mut Self {
        let flags = elf::SHF_ALLOC | elf::SHF_WRITE;
        self.section(name, elf::SHT_PROGBITS, flags, address, bytes)
    }

    /// Overwrites bytes of the section that holds `address`.
    pub(super) fn poke(&mut self, address: u64, bytes: &[u8]) -> &mut Self {
        let holds = |s: &&mut TestSection| (s.address..s.address + s.size).contains(&address);
        let section = self.sections.iter_mut().find(holds).unwrap();
        let at = (address - section.address) as usize;
        section.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(super) fn function(&mut self, name: &str, address: u64, size: u64) -> &mut Self {
        self.symbol(name, elf::STT_FUNC, elf::STB_GLOBAL, address, size)
    }

    pub(super) fn object(&mut self, name: &str, address: u64, size: u64) -> &mut Self {
        self.symbol(name, elf::STT_OBJECT, elf::STB_LOCAL, address, size)
    }

    pub(super) fn label(&mut self, name: &str, address: u64) -> &mut Self {
        self.symbol(name, elf::STT_NOTYPE, elf::STB_GLOBAL, address, 0)
    }

    pub(super) fn symbol(
        &mut self,
        name: &str,
        kind: SymbolType,
        bind: SymbolBind,
        address: u64,
        size: u64,
    ) -> &mut Self {
        let (name, section) = (name.to_owned(), None);
        self.symbols.push(TestSymbol { name, kind, bind, section, address, size });
        self
    }

    /// A whitelist at [`INIT_DATA`]: the entries' bytes, `stride` bytes apart, with the list's bounds and each entry's
    /// own symbol.
    pub(super) fn whitelist(&mut self, stride: u64, entries: &[(&str, Vec<u8>)]) -> &mut Self {
        let mut bytes = Vec::new();
        for (name, entry) in entries {
            let at = INIT_DATA + bytes.len() as u64;
            self.object(&format!("_eil_addr_{name}"), at, entry.len() as u64);
            bytes.extend(entry);
            bytes.resize(bytes.len().next_multiple_of(stride as usize), 0);
        }
        // As the linker leaves it: no padding after the last entry.
        let padding = entries.last().map_or(0, |(_, entry)| stride as usize - entry.len());
        bytes.truncate(bytes.len() - padding);
        let end = INIT_DATA + bytes.len() as u64;
        self.label("__start_error_injection_whitelist", INIT_DATA);
        self.label("__stop_error_injection_whitelist", end);
        self.data(".init.data", INIT_DATA, bytes)
    }

    pub(super) fn without_symbols(&mut self, prefix: &str) -> &mut Self {
        self.symbols.retain(|symbol| !symbol.name.starts_with(prefix));
        self
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(self.endian, true, &mut buffer);
        writer.reserve_file_header();
        let sections: Vec<_> = self
            .sections
            .iter()
            .map(|section| {
                let name = writer.add_section_name(section.name.as_bytes());
                writer.reserve_section_index();
                let offset = writer.reserve(section.bytes.len() as u64, 16);
                (section, name, offset)
            })
            .collect();
        let symbols: Vec<_> = self
            .symbols
            .iter()
            .map(|symbol| {
                let name = writer.add_string(symbol.name.as_bytes());
                writer.reserve_symbol_index(None);
                (symbol, name)
            })
            .collect();
        if !symbols.is_empty() {
            writer.reserve_symtab_section_index();
            writer.reserve_symtab();
            writer.reserve_strtab_section_index();
            writer.reserve_strtab().unwrap();
        }
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab().unwrap();
        writer.reserve_section_headers();

        let header = FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: self.kind,
            e_machine: self.machine,
            e_entry: 0,
            e_flags: elf::FileFlags(0),
        };
        writer.write_file_header(&header).unwrap();
        for (section, ..) in &sections {
            writer.write_align(16);
            writer.write(&section.bytes);
        }
        if !symbols.is_empty() {
            writer.write_null_symbol();
            for (symbol, name) in &symbols {
                let st_name = writer.string_offset(Some(*name));
                writer.write_symbol(&Sym {
                    section: None,
                    st_name,
                    st_info: elf::SymbolInfo::new(symbol.bind, symbol.kind),
                    st_other: elf::SymbolOther(0),
                    st_shndx: symbol.section.map_or(elf::SHN_ABS, elf::SymbolSection),
                    st_value: symbol.address,
                    st_size: symbol.size,
                });
            }
            writer.write_strtab();
        }
        writer.write_shstrtab();
        writer.write_null_section_header();
        for (section, name, offset) in &sections {
            let sh_name = writer.section_name_offset(Some(*name));
            writer.write_section_header(&SectionHeader {
                sh_name,
                sh_type: section.kind,
                sh_flags: section.flags,
                sh_addr: section.address,
                sh_offset: *offset,
                sh_size: section.size,
                sh_link: 0,
                sh_info: section.info,
                sh_addralign: 4,
                sh_entsize: 0,
            });
        }
        if !symbols.is_empty() {
            writer.write_symtab_section_header(1);
            writer.write_strtab_section_header();
        }
        writer.write_shstrtab_section_header();
        buffer
    }
}

/// A table of relocations: place, kind (the symbol's number in its upper half) and addend.
pub(super) fn rela(relocations: &[(u64, u64, i64)]) -> Vec<u8> {
    let words = relocations.iter().flat_map(|&(at, kind, addend)| [at, kind, addend as u64]);
    words.flat_map(u64::to_le_bytes).collect()
}

/// An entry of today's kernels.
pub(super) fn entry16(function: u64, error_type: u32) -> Vec<u8> {
    [&function.to_le_bytes()[..], &error_type.to_le_bytes(), &[0; 4]].concat()
}

/// An entry with a key.
pub(super) fn entry24(function: u64, key: u64, error_type: u32) -> Vec<u8> {
    [&function.to_le_bytes()[..], &key.to_le_bytes(), &error_type.to_le_bytes(), &[0; 4]].concat()
}

/// BTF with a few types of other kinds and one structure: its name, size, and members with offsets in bits.
pub(super) fn btf(name: &str, size: u32, members: &[(&str, u32)]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut string = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    // An int with its extra word, a pointer without, an array, an enum of two values.
    let mut types = vec![string("long"), 1 << 24, 8, 64];
    types.extend([0, 2 << 24, 1]);
    types.extend([0, 3 << 24, 0, 1, 1, 4]);
    types.extend([string("kinds"), 6 << 24 | 2, 4, string("ONE"), 1, string("TWO"), 2]);
    // Prototypes that return something and nothing, and three functions.
    types.extend([0, 13 << 24, 1]);
    types.extend([0, 13 << 24, 0]);
    for (function, prototype) in [("security_file_open", 5), ("security_free", 6), ("open", 5)] {
        types.extend([string(function), 12 << 24, prototype]);
    }
    types.extend([string(name), 4 << 24 | members.len() as u32, size]);
    for (member, bits) in members {
        types.extend([string(member), 1, *bits]);
    }
    let length = types.len() as u32 * 4;
    let header = [0x0001_eb9f, 24, 0, length, length, strings.len() as u32];
    let words = header.iter().chain(&types);
    words.flat_map(|word| word.to_le_bytes()).chain(strings.iter().copied()).collect()
}

/// A boot image of one sector more than the boot sector, with a payload behind 8 bytes of other code.
pub(super) fn vmlinuz(payload: &[u8]) -> Vec<u8> {
    let mut image = vec![0; 1024 + 8];
    image[0x1f1] = 1;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&0x020f_u16.to_le_bytes());
    image[0x248..0x24c].copy_from_slice(&8_u32.to_le_bytes());
    image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    image.extend(payload);
    image
}
