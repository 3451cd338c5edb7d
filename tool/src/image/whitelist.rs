//! The error injection whitelist: which functions may fail, how, and behind which key.
//!
//! The kernel frees the list after boot (`populate_kernel_ei_list()` in `lib/error-inject.c` makes its own of it), so
//! the image is the only place to read it from.

use std::ops::Range;

use object::LittleEndian as LE;

use super::{
    ErrorType, Image, ImageError, Key, Table,
    elf::{File, Symbol, is_defined},
    layout::{ENTRY_SYMBOL, Layout},
};

const TABLE: Table = Table {
    start: "__start_error_injection_whitelist",
    stop: "__stop_error_injection_whitelist",
    section: "_error_injection_whitelist",
    option: "CONFIG_FUNCTION_ERROR_INJECTION",
};

/// Real kernels list some hundreds. The bound keeps what a hostile file can make us allocate small.
const MAX_ENTRIES: u64 = 0xffff;

/// One injectable function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its first byte, as linked: without the running kernel's KASLR slide.
    pub address: u64,
    /// Every function symbol at that address. The one that the source marked comes first, if symbols tell it; the
    /// running kernel's list prints one of them, not always that one. Empty if the image is stripped.
    pub names: Vec<String>,
    /// How it may fail.
    pub error_type: ErrorType,
    /// The static key that guards its call sites. None: the calls are not guarded, or this kernel's entries have no
    /// room for a key.
    pub key: Option<Key>,
}

impl Image<'_> {
    /// The whitelist, in the kernel's order.
    ///
    /// # Errors
    /// [`ImageError::Stripped`] and [`ImageError::NoSymbol`] if the list cannot be found,
    /// [`ImageError::NoLayout`] and [`ImageError::LayoutMismatch`] if nothing, or two things, are said about its
    /// layout, [`ImageError::Malformed`] and [`ImageError::Unmapped`] if it does not hold what a whitelist holds.
    pub fn whitelist(&self) -> Result<Vec<Entry>, ImageError> {
        let bounds = self.bounds(TABLE)?;
        self.whitelist_between(bounds)
    }

    /// The whitelist between two addresses as linked, for images without symbols, whose bounds kallsyms knows.
    ///
    /// # Errors
    /// As [`Self::whitelist`].
    pub fn whitelist_between(&self, bounds: Range<u64>) -> Result<Vec<Entry>, ImageError> {
        let file = &self.file;
        let length = bounds
            .end
            .checked_sub(bounds.start)
            .ok_or_else(|| file.malformed(bounds.start, "the whitelist ends before it starts"))?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let bytes = file.read("the whitelist", bounds.start, length)?;
        let Some(bytes) = bytes else {
            return Err(file.malformed(bounds.start, "the whitelist has no bytes in the file"));
        };
        let symbols = entry_symbols(file, &bounds)?;
        let layout = Layout::find(file, &bounds, &symbols)?;
        if length / layout.stride > MAX_ENTRIES {
            let problem = format!("{length} bytes of whitelist are more than any kernel has");
            return Err(file.malformed(bounds.start, problem));
        }
        // A symbol that is missing looks like padding, but padding is empty.
        let (size, stride) = (layout.size as usize, layout.stride as usize);
        let mut padding = bytes.chunks(stride).map(|entry| entry.get(size..));
        if let Some(i) = padding.position(|rest| rest.is_some_and(|r| r.iter().any(|&b| b != 0))) {
            let at = bounds.start + (i * stride + size) as u64;
            return Err(file.malformed(at, "there is something between the whitelist entries"));
        }
        (bounds.start..bounds.end)
            .step_by(stride)
            .zip(bytes.chunks(stride))
            .enumerate()
            .map(|(i, (at, bytes))| self.entry(&layout, at, bytes, symbols.get(i).copied()))
            .collect()
    }

    /// The entry at `at`. Nothing that a whitelist entry cannot say is let through: it would mean a wrong layout.
    fn entry(
        &self,
        layout: &Layout,
        at: u64,
        bytes: &[u8],
        symbol: Option<&Symbol>,
    ) -> Result<Entry, ImageError> {
        let file = &self.file;
        let early = || file.malformed(at, "the last whitelist entry is cut");
        let word = |offset: u64| {
            let rest = bytes.get(offset as usize..)?;
            rest.first_chunk().map(|&bytes| u64::from_le_bytes(bytes))
        };
        let half = |offset: u64| {
            let rest = bytes.get(offset as usize..)?;
            rest.first_chunk().map(|&bytes| u32::from_le_bytes(bytes))
        };

        let address = word(layout.address).ok_or_else(early)?;
        if !file.section_at(address).is_some_and(|s| s.executable) {
            let problem = format!("a whitelist entry names {address:#x}, which is no code");
            return Err(file.malformed(at, problem));
        }
        let number = half(layout.error_type).ok_or_else(early)?;
        let error_type = ErrorType::from_number(number).ok_or_else(|| {
            file.malformed(at, format!("a whitelist entry has the error type {number}"))
        })?;
        let key = match layout.key {
            Some(offset) => word(offset).ok_or_else(early)?,
            None => 0,
        };
        let key = (key != 0).then(|| self.key(at, key)).transpose()?;
        Ok(Entry { address, names: self.function_names(address, symbol), error_type, key })
    }

    fn function_names(&self, address: u64, symbol: Option<&Symbol>) -> Vec<String> {
        let marked = symbol
            .and_then(|symbol| self.file.symbol_name(symbol))
            .and_then(|name| name.strip_prefix(ENTRY_SYMBOL));
        let mut names = self.functions().names_at(&self.file, address);
        // Stable: the others keep their order.
        names.sort_by_key(|&name| Some(name) != marked);
        names.into_iter().map(str::to_owned).collect()
    }
}

/// The `_eil_addr_NAME` symbols by address, one for each.
fn entry_symbols<'f>(file: &'f File, bounds: &Range<u64>) -> Result<Vec<&'f Symbol>, ImageError> {
    let address = |symbol: &Symbol| symbol.st_value.get(LE);
    let mut symbols: Vec<_> = file
        .symbols()
        .iter()
        .filter(|symbol| is_defined(symbol) && file.name_starts_with(symbol, ENTRY_SYMBOL))
        .collect();
    symbols.sort_by_key(|symbol| address(symbol));
    symbols.dedup_by_key(|symbol| address(symbol));
    match symbols.iter().find(|s| !bounds.contains(&address(s))) {
        Some(stray) => {
            Err(file.malformed(address(stray), "an _eil_addr_ symbol lies outside the whitelist"))
        }
        None => Ok(symbols),
    }
}

#[cfg(test)]
mod tests;
