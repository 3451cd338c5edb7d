//! Symbols of one kind, by address.

use object::{
    LittleEndian as LE,
    elf::{STB_GLOBAL, SymbolType},
};

use super::elf::{File, is_defined};

/// How many symbols before an address are tried for one that covers it. Labels inside assembly functions nest two or
/// three deep; the bound keeps a hostile table from making every look-up a scan.
const MAX_NESTING: usize = 16;

/// More names than this at one address are left out; real kernels have four or five.
const MAX_NAMES: usize = 16;

/// Functions or objects, sorted by address; at one address global symbols first, then in the table's order.
pub(super) struct Index {
    /// Address, size, index in the symbol table.
    symbols: Vec<(u64, u64, u32)>,
}

impl Index {
    /// All defined symbols of type `kind`. Takes one pass over the symbol table and a sort.
    pub(super) fn new(file: &File, kind: SymbolType) -> Self {
        let table = file.symbols();
        let mut symbols: Vec<_> = (0u32..)
            .zip(table)
            .filter(|(_, symbol)| symbol.st_type() == kind && is_defined(symbol))
            .map(|(i, symbol)| (symbol.st_value.get(LE), symbol.st_size.get(LE), i))
            .collect();
        symbols.sort_unstable_by_key(|&(address, _, i)| {
            let local = table[i as usize].st_bind() != STB_GLOBAL;
            (address, local, i)
        });
        Self { symbols }
    }

    /// The names of all symbols that start at `address`.
    pub(super) fn names_at<'f>(&self, file: &'f File, address: u64) -> Vec<&'f str> {
        let first = self.symbols.partition_point(|&(start, ..)| start < address);
        self.symbols[first..]
            .iter()
            .take(MAX_NAMES)
            .take_while(|&&(start, ..)| start == address)
            .filter_map(|&(.., i)| file.symbol_name(&file.symbols()[i as usize]))
            .collect()
    }

    /// The start of the last symbol at or before `address`.
    pub(super) fn start_before(&self, address: u64) -> Option<u64> {
        let after = self.symbols.partition_point(|&(start, ..)| start <= address);
        Some(self.symbols[after.checked_sub(1)?].0)
    }

    /// The start of the first symbol after `address`.
    pub(super) fn start_after(&self, address: u64) -> Option<u64> {
        let after = self.symbols.partition_point(|&(start, ..)| start <= address);
        self.symbols.get(after).map(|&(start, ..)| start)
    }

    /// All of them: address and name.
    pub(super) fn iter<'f>(&self, file: &'f File) -> impl Iterator<Item = (u64, &'f str)> {
        let name = |i: u32| file.symbol_name(&file.symbols()[i as usize]);
        self.symbols.iter().filter_map(move |&(address, _, i)| Some((address, name(i)?)))
    }

    /// The innermost symbol that covers `address`, and how far into it the address is.
    pub(super) fn covering<'f>(&self, file: &'f File, address: u64) -> Option<(&'f str, u64)> {
        let after = self.symbols.partition_point(|&(start, ..)| start <= address);
        let mut found: Option<(&str, u64)> = None;
        for &(start, size, i) in self.symbols[..after].iter().rev().take(MAX_NESTING) {
            let offset = address - start;
            if found.is_some_and(|(_, inner)| inner != offset) {
                break;
            }
            // A symbol without a size covers its own address only.
            if offset < size.max(1)
                && let Some(name) = file.symbol_name(&file.symbols()[i as usize])
            {
                // Of those with the same start the first in order is seen last.
                found = Some((name, offset));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use object::elf::{STB_LOCAL, STT_FUNC};

    use super::super::{
        bytes::Bytes,
        testing::{Kernel, TEXT},
    };
    use super::*;

    fn with_index(kernel: &Kernel, test: impl FnOnce(&File, &Index)) {
        let bytes = kernel.build();
        let file = File::parse("vmlinux".into(), Bytes::Borrowed(&bytes)).unwrap();
        test(&file, &Index::new(&file, STT_FUNC));
    }

    #[test]
    fn the_innermost_of_nested_symbols_covers() {
        let mut kernel = Kernel::new();
        kernel
            .function("outer", TEXT, 64)
            .function("inner", TEXT + 16, 8)
            .function("label", TEXT + 32, 0)
            .label("no_function", TEXT + 40);
        with_index(&kernel, |file, index| {
            let covering = |offset| index.covering(file, TEXT + offset);
            assert_eq!(covering(0), Some(("outer", 0)));
            assert_eq!(covering(20), Some(("inner", 4)));
            assert_eq!(covering(24), Some(("outer", 24)));
            assert_eq!(covering(32), Some(("label", 0)));
            assert_eq!(covering(40), Some(("outer", 40)));
            assert_eq!(covering(64), None);
            assert_eq!(index.covering(file, 0), None);
        });
    }

    #[test]
    fn at_one_address_the_global_symbol_is_the_first() {
        let mut kernel = Kernel::new();
        kernel.symbol("local", STT_FUNC, STB_LOCAL, TEXT, 8).function("global", TEXT, 8).function(
            "global_too",
            TEXT,
            8,
        );
        with_index(&kernel, |file, index| {
            assert_eq!(index.names_at(file, TEXT), ["global", "global_too", "local"]);
            assert_eq!(index.covering(file, TEXT + 4), Some(("global", 4)));
            assert_eq!(index.names_at(file, TEXT + 4), [""; 0]);
        });
    }
}
