//! Symbols for a stripped image, from whoever has them: the running kernel's `/proc/kallsyms`, less its slide.

use object::{
    LittleEndian as LE, U16, U32, U64,
    elf::{self, SymbolInfo, SymbolOther},
};

use super::elf::Symbol;

/// A symbol from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct LentSymbol<'s> {
    /// As linked.
    pub address: u64,
    /// As nm prints it.
    pub kind: char,
    /// Its name.
    pub name: &'s str,
}

/// The same as an ELF file has them.
pub(super) struct Lent {
    pub(super) symbols: Vec<Symbol>,
    pub(super) strings: Vec<u8>,
}

impl Lent {
    /// kallsyms knows no sizes: each symbol reaches to the next one's address.
    pub(super) fn new<'s>(symbols: impl Iterator<Item = LentSymbol<'s>>) -> Self {
        // The kernel puts these on whitelist entries, and without a size they say nothing.
        let mut sorted: Vec<_> = symbols
            .filter(|symbol| !symbol.name.starts_with(super::layout::ENTRY_SYMBOL))
            .collect();
        // Stable: those that share an address keep their order.
        sorted.sort_by_key(|symbol| symbol.address);
        let mut strings = vec![0];
        let mut table = Vec::with_capacity(sorted.len());
        for (i, symbol) in sorted.iter().enumerate() {
            let same = sorted[i..].partition_point(|other| other.address == symbol.address);
            let next = sorted.get(i + same).map_or(symbol.address, |next| next.address);
            table.push(entry(symbol, strings.len() as u32, next - symbol.address));
            strings.extend(symbol.name.bytes().chain([0]));
        }
        Self { symbols: table, strings }
    }
}

fn entry(symbol: &LentSymbol<'_>, name: u32, size: u64) -> Symbol {
    let kind = match symbol.kind.to_ascii_lowercase() {
        't' | 'w' => elf::STT_FUNC,
        'd' | 'b' | 'r' | 'v' => elf::STT_OBJECT,
        _ => elf::STT_NOTYPE,
    };
    let bind = if symbol.kind.is_ascii_uppercase() { elf::STB_GLOBAL } else { elf::STB_LOCAL };
    Symbol {
        st_name: U32::new(LE, name),
        st_info: SymbolInfo::new(bind, kind),
        st_other: SymbolOther(0),
        st_shndx: U16::new(LE, elf::SHN_ABS),
        st_value: U64::new(LE, symbol.address),
        st_size: U64::new(LE, size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{
        Image, ImageError,
        testing::{BSS, INIT_DATA, Kernel, TEXT, btf, entry24},
    };

    fn stripped() -> Vec<u8> {
        let mut kernel = Kernel::new();
        let members = [("addr", 0), ("static_key_addr", 64), ("etype", 128)];
        let entries = [("f", entry24(TEXT + 16, BSS + 64, 2))];
        kernel.whitelist(24, &entries).without_symbols("").data(
            ".BTF",
            0xffff_ffff_8600_0000,
            btf("error_injection_entry", 24, &members),
        );
        kernel.build()
    }

    fn symbol(address: u64, kind: char, name: &str) -> LentSymbol<'_> {
        LentSymbol { address, kind, name }
    }

    #[test]
    fn lent_symbols_name_what_a_stripped_image_holds() {
        let bytes = stripped();
        let mut image = Image::parse("vmlinuz", &bytes).unwrap();
        assert!(image.is_stripped());
        assert_eq!(image.text_start(), Some(TEXT));
        assert!(matches!(image.whitelist(), Err(ImageError::Stripped { .. })));
        let symbols = [
            symbol(TEXT, 't', "before"),
            symbol(TEXT + 16, 't', "alias"),
            symbol(TEXT + 16, 'T', "open_it"),
            symbol(TEXT + 48, 't', "after"),
            symbol(BSS + 64, 'b', "open_it_active"),
            symbol(INIT_DATA, 'D', "__start_error_injection_whitelist"),
            symbol(INIT_DATA, 'd', "_eil_addr_open_it"),
            symbol(INIT_DATA + 24, 'D', "__stop_error_injection_whitelist"),
        ];
        image.lend_symbols(symbols.into_iter());
        let entries = image.whitelist().unwrap();
        assert_eq!(entries[0].names, ["open_it", "alias"]);
        assert_eq!(entries[0].key.as_ref().unwrap().name, "open_it_active");
        assert_eq!(image.functions().covering(&image.file, TEXT + 47), Some(("open_it", 31)));
    }

    #[test]
    fn a_kernel_that_shows_functions_only_is_told_apart() {
        let bytes = stripped();
        let mut image = Image::parse("vmlinuz", &bytes).unwrap();
        image.lend_symbols([symbol(TEXT, 't', "before")].into_iter());
        let error = image.whitelist().unwrap_err().to_string();
        assert!(error.contains("CONFIG_KALLSYMS_ALL"), "{error}");
    }
}
