//! How whitelist entries are laid out: their members and their spacing.
//!
//! Kernels differ: 16 bytes with address and type; 24 with a static key between the two (`seeds/`, our patches); and a
//! compiler may align either to more. Two sources know: BTF, and the `_eil_addr_NAME` symbols, one on each entry
//! (`ALLOW_ERROR_INJECTION` in `include/asm-generic/error-injection.h`). One is enough, both must agree, and what they
//! say is checked against the section's size here and against each entry's contents in `whitelist`.

use std::ops::Range;

use object::LittleEndian as LE;

use super::{
    ImageError, btf,
    elf::{File, Symbol},
};

const STRUCT: &str = "error_injection_entry";
/// What the name of each entry's own symbol starts with; the function's name follows.
pub(super) const ENTRY_SYMBOL: &str = "_eil_addr_";

/// Where the members of an entry are. All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Of one entry, without the padding to the next.
    pub(super) size: u64,
    /// From one entry to the next.
    pub(super) stride: u64,
    /// 8 bytes: the function.
    pub(super) address: u64,
    /// 8 bytes: the key, or 0. None: this kernel's entries have no key.
    pub(super) key: Option<u64>,
    /// 4 bytes: the error type.
    pub(super) error_type: u64,
}

impl Layout {
    fn packed(size: u64, key: Option<u64>, error_type: u64) -> Self {
        let (stride, address) = (size, 0);
        Self { size, stride, address, key, error_type }
    }

    /// The layout of the whitelist at `bounds`, given the symbols on its entries, sorted by address (none if stripped).
    pub(super) fn find(
        file: &File,
        bounds: &Range<u64>,
        entries: &[&Symbol],
    ) -> Result<Self, ImageError> {
        let from_btf = from_btf(file)?;
        let Some(&first) = entries.first() else {
            let layout = from_btf.ok_or_else(|| {
                no_layout(file, "there is neither BTF nor any _eil_addr_ symbol".into())
            })?;
            let length = bounds.end - bounds.start;
            if !length.is_multiple_of(layout.size) {
                return Err(no_layout(
                    file,
                    format!(
                        "BTF says {} bytes an entry, but the list has {length}, and there are no _eil_addr_ symbols",
                        layout.size
                    ),
                ));
            }
            return Ok(layout);
        };

        let size = first.st_size.get(LE);
        let stride = stride(file, bounds, entries)?;
        let layout = match from_btf {
            Some(layout) if layout.size != size => {
                return Err(ImageError::LayoutMismatch {
                    name: file.name.clone(),
                    btf: layout.size,
                    symbols: size,
                });
            }
            Some(layout) => layout,
            None => match size {
                16 => Self::packed(16, None, 8),
                24 => Self::packed(24, Some(8), 16),
                _ => {
                    return Err(no_layout(
                        file,
                        format!("there is no BTF, and {size} bytes an entry is no known layout"),
                    ));
                }
            },
        };
        Ok(Self { stride, ..layout })
    }
}

/// The distance between entries, which must be the same from one end of the list to the other.
fn stride(file: &File, bounds: &Range<u64>, entries: &[&Symbol]) -> Result<u64, ImageError> {
    let address = |symbol: &Symbol| symbol.st_value.get(LE);
    let size = entries[0].st_size.get(LE);
    if let Some(odd) = entries.iter().find(|s| s.st_size.get(LE) != size || size == 0) {
        let problem =
            format!("an _eil_addr_ symbol has {} bytes, others {size}", odd.st_size.get(LE));
        return Err(file.malformed(address(odd), problem));
    }
    // The padding after the last entry may or may not be inside the bounds.
    let last_end = address(entries[entries.len() - 1]).saturating_add(size);
    let stride = match entries {
        [one, two, ..] => address(two) - address(one),
        _ => bounds.end - bounds.start,
    };
    if stride < size {
        return Err(file.malformed(address(entries[0]), "whitelist entries overlap"));
    }
    if entries.len() == 1 && stride - size >= size {
        let problem = "only one whitelist entry has its _eil_addr_ symbol";
        return Err(file.malformed(bounds.start, problem));
    }
    if let Some(pair) =
        entries.windows(2).find(|pair| address(pair[1]) - address(pair[0]) != stride)
    {
        let problem = format!("no whitelist entry {stride} bytes after this one");
        return Err(file.malformed(address(pair[0]), problem));
    }
    let (whole, padding) = (bounds.end >= last_end, bounds.end.saturating_sub(last_end));
    if address(entries[0]) != bounds.start || !whole || padding > stride - size {
        let problem = "the _eil_addr_ symbols do not fill the whitelist from end to end";
        return Err(file.malformed(bounds.start, problem));
    }
    Ok(stride)
}

fn from_btf(file: &File) -> Result<Option<Layout>, ImageError> {
    if file.is_module {
        // A module's BTF adds to vmlinux's, which has this structure.
        return Ok(None);
    }
    let Some(entry) = btf::find_struct(file, STRUCT)? else {
        return Ok(None);
    };
    let problem = |text: &str| no_layout(file, format!("BTF's struct {STRUCT} {text}"));
    let (mut address, mut key, mut error_type) = (None, None, None);
    for (name, offset) in &entry.members {
        match name.as_str() {
            "addr" => address = Some(*offset),
            "static_key_addr" => key = Some(*offset),
            "etype" => error_type = Some(*offset),
            // It could be a key by another name, and then "no key" would be a lie.
            _ => return Err(problem(&format!("has an unknown member {name}"))),
        }
    }
    let (Some(address), Some(error_type)) = (address, error_type) else {
        return Err(problem("lacks addr or etype"));
    };
    let mut spans = vec![(address, 8), (error_type, 4)];
    spans.extend(key.map(|key| (key, 8)));
    spans.sort_unstable();
    let apart = spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
    if !apart || spans.iter().any(|(offset, size)| offset + size > entry.size) {
        return Err(problem("has members that overlap or pass its end"));
    }
    Ok(Some(Layout { size: entry.size, stride: entry.size, address, key, error_type }))
}

fn no_layout(file: &File, problem: String) -> ImageError {
    ImageError::NoLayout { name: file.name.clone(), problem }
}
