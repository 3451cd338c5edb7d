//! The jump table: which places in the code each static key switches.

use std::{collections::HashMap, ops::Range};

use super::{Image, ImageError, Table};

const TABLE: Table = Table {
    start: "__start___jump_table",
    stop: "__stop___jump_table",
    section: "__jump_table",
    option: "CONFIG_JUMP_LABEL",
};

/// `struct jump_entry` with CONFIG_HAVE_ARCH_JUMP_LABEL_RELATIVE: `s32 code, s32 target, long key`, each relative to
/// its own address.
const ENTRY: usize = 16;
const TARGET: u64 = 4;
const KEY: u64 = 8;
/// The low two bits of `key`: bit 0 is the site's sense, bit 1 a mark for objtool (in the file) or for init code (at
/// run time).
const FLAGS: u64 = 3;

/// A big distribution kernel has some 20,000. The bound keeps what a hostile file can make us allocate small.
const MAX_ENTRIES: u64 = 1 << 20;

/// One place in the code that a static key switches between a jump and a nop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The instruction, as linked.
    pub address: u64,
    /// Where it jumps when it is a jump.
    pub target: u64,
    /// The function that contains it, after inlining: the out-of-line one. None if the image is stripped.
    pub function: Option<String>,
    /// True: it jumps while the key is off and falls through while it is on (`static_branch_likely`), so the guarded
    /// code is what follows. False: the other way round, and the guarded code is at `target`.
    pub jumps_when_off: bool,
    /// In code that the kernel frees after boot; such a site is never switched then.
    pub init: bool,
}

impl Image<'_> {
    /// The sites that the key at `key` (as linked) switches, in the table's order, which is not sorted. None of them: a
    /// key that guards nothing, or no key.
    ///
    /// # Errors
    /// [`ImageError::Stripped`] and [`ImageError::NoSymbol`] if the table cannot be found,
    /// [`ImageError::Malformed`] and [`ImageError::Unmapped`] if it does not hold what a jump table holds.
    pub fn sites_of(&self, key: u64) -> Result<Vec<Site>, ImageError> {
        let init = self.init_range();
        let entries = self.raw_sites()?.into_iter();
        entries
            .filter(|(_, raw)| raw.key == key)
            .map(|(at, raw)| self.site(at, &raw, &init))
            .collect()
    }

    /// How many sites each key has, in one pass. None: the image has no jump table, or nobody can find it.
    ///
    /// # Errors
    /// As [`Self::sites_of`], but for the table that is missing.
    pub fn site_counts(&self) -> Result<Option<HashMap<u64, usize>>, ImageError> {
        let sites = match self.raw_sites() {
            Err(ImageError::NoSymbol { .. } | ImageError::NotLent { .. }) => return Ok(None),
            sites => sites?,
        };
        let mut counts = HashMap::new();
        for (_, site) in sites {
            *counts.entry(site.key).or_default() += 1;
        }
        Ok(Some(counts))
    }

    /// The whole table: where each entry is, and what it says.
    pub(super) fn raw_sites(&self) -> Result<Vec<(u64, Raw)>, ImageError> {
        let file = &self.file;
        let bounds = self.bounds(TABLE)?;
        let length = bounds
            .end
            .checked_sub(bounds.start)
            .ok_or_else(|| file.malformed(bounds.start, "the jump table ends before it starts"))?;
        if length == 0 {
            return Ok(Vec::new());
        }
        if length % ENTRY as u64 != 0 || length / ENTRY as u64 > MAX_ENTRIES {
            let problem = format!("{length} bytes are no jump table of 16-byte entries");
            return Err(file.malformed(bounds.start, problem));
        }
        let bytes = file.read("the jump table", bounds.start, length)?;
        let Some(bytes) = bytes else {
            return Err(file.malformed(bounds.start, "the jump table has no bytes in the file"));
        };
        let entries = bytes.as_chunks::<ENTRY>().0;
        Ok((bounds.start..bounds.end)
            .step_by(ENTRY)
            .zip(entries)
            .map(|(at, bytes)| (at, Raw::decode(at, bytes)))
            .collect())
    }

    fn site(&self, at: u64, raw: &Raw, init: &Range<u64>) -> Result<Site, ImageError> {
        for address in [raw.code, raw.target] {
            if !self.file.section_at(address).is_some_and(|s| s.executable) {
                let problem = format!("a jump table entry names {address:#x}, which is no code");
                return Err(self.file.malformed(at, problem));
            }
        }
        let function = self.functions().covering(&self.file, raw.code);
        Ok(Site {
            address: raw.code,
            target: raw.target,
            function: function.map(|(name, _)| name.to_owned()),
            jumps_when_off: raw.jumps_when_off,
            init: self.is_init(raw.code, init),
        })
    }

    /// What the kernel frees after boot; `jump_label_init()` marks the sites in it by the same two symbols.
    pub(super) fn init_range(&self) -> Range<u64> {
        match (self.symbol("__init_begin"), self.symbol("__init_end")) {
            (Some(start), Some(end)) => start..end,
            _ => 0..0,
        }
    }
}

impl Image<'_> {
    /// Whether the kernel frees the code at `address` after boot, or after loading the module.
    pub(super) fn is_init(&self, address: u64, init: &Range<u64>) -> bool {
        if self.file.is_module {
            return self.file.section_at(address).is_some_and(|s| s.name.starts_with(".init"));
        }
        init.contains(&address)
    }
}

/// An entry with its three relative fields made absolute.
pub(super) struct Raw {
    pub(super) code: u64,
    pub(super) target: u64,
    pub(super) key: u64,
    pub(super) jumps_when_off: bool,
}

impl Raw {
    /// As `jump_entry_code()` and its like in `include/linux/jump_label.h`.
    fn decode(at: u64, bytes: &[u8; ENTRY]) -> Self {
        let number = u128::from_le_bytes(*bytes);
        let (code, target, key) = (number as i32, (number >> 32) as i32, (number >> 64) as u64);
        Self {
            code: at.wrapping_add_signed(code.into()),
            target: at.wrapping_add(TARGET).wrapping_add_signed(target.into()),
            key: at.wrapping_add(KEY).wrapping_add(key & !FLAGS),
            jumps_when_off: key & 1 == 1,
        }
    }
}

#[cfg(test)]
mod tests;
