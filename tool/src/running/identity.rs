//! Which kernel is running, to compare with an image.

use super::RunningError;

const NOTES: &str = "/sys/kernel/notes";
const BANNER: &str = "/proc/version";
/// `NT_GNU_BUILD_ID` of include/uapi/linux/elf.h and binutils.
const BUILD_ID: u32 = 3;

/// What tells one build of the kernel from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Where the kernel was linked with one, and sysfs shows its notes.
    pub build_id: Option<Vec<u8>>,
    /// `Linux version …`, without the line's end.
    pub banner: String,
}

impl Identity {
    /// Reads it.
    pub fn read() -> Result<Self, RunningError> {
        let banner = std::fs::read_to_string(BANNER).map_err(RunningError::read(BANNER))?;
        // No such file without CONFIG_SYSFS; the banner alone serves then.
        let notes = std::fs::read(NOTES).unwrap_or_default();
        Ok(Self { build_id: build_id(&notes), banner: banner.trim_end().to_owned() })
    }
}

/// Finds the build id among ELF notes: name size, description size, type, then both, each padded to 4 bytes.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (name_size, size, kind) = (word(0) as usize, word(4) as usize, word(8));
        let name = rest.get(..name_size)?;
        let rest = rest.get(name_size.checked_next_multiple_of(4)?..)?;
        let description = rest.get(..size)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return Some(description.to_vec());
        }
        notes = rest.get(size.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [name.len() as u32, description.len() as u32, kind] {
            note.extend(word.to_ne_bytes());
        }
        for part in [name, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let mut notes = note(b"Linux\0", 3, b"no");
        notes.extend(note(b"GNU\0", 1, b"nor this"));
        notes.extend(note(b"GNU\0", 3, b"12345678901234567890"));
        assert_eq!(build_id(&notes).unwrap(), b"12345678901234567890");
    }

    #[test]
    fn notes_cut_short_anywhere_hold_no_build_id() {
        let notes = note(b"GNU\0", 3, b"12345678901234567890");
        for length in 0..notes.len() {
            assert_eq!(build_id(&notes[..length]), None, "{length}");
        }
    }
}
