//! Which build an image is: to tell whether it is the running kernel.

use object::{LittleEndian as LE, elf, read::elf::NoteIterator};

use super::{Image, elf::Header};

/// Longer ones are damage: `ld --build-id` makes 8, 16 or 20 bytes, or whatever it is given in hexadecimal.
const MAX_BUILD_ID: usize = 64;
/// All notes of a kernel have some 500 bytes.
const MAX_NOTES: usize = 0x10000;
/// `linux_banner` has some 200 bytes.
const MAX_BANNER: u64 = 1024;

impl Image<'_> {
    /// The GNU build id, as `/sys/kernel/notes` has it. None: built without, or the notes are damaged.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.file.sections().iter().filter(|s| s.note);
        notes
            .filter_map(|section| {
                let bytes = self.file.section_bytes(section);
                let bytes = &bytes[..bytes.len().min(MAX_NOTES)];
                NoteIterator::<Header>::new(LE, section.align, bytes).ok()
            })
            .flatten()
            .filter_map(Result::ok)
            .find(|note| {
                note.name() == elf::ELF_NOTE_GNU
                    && note.n_type(LE) == elf::NT_GNU_BUILD_ID
                    && (1..=MAX_BUILD_ID).contains(&note.desc().len())
            })
            .map(|note| note.desc().to_vec())
    }

    /// The line that `/proc/version` prints, "Linux version …", without its end of line.
    ///
    /// From `linux_banner` (`init/version-timestamp.c`, before 6.1 `init/version.c`). None if the image is stripped.
    pub fn banner(&self) -> Option<String> {
        let address = self.symbol("linux_banner")?;
        let left = self.file.section_at(address)?.end() - address;
        let bytes = self.file.read("the banner", address, left.min(MAX_BANNER)).ok()??;
        let text = bytes.split(|&byte| byte == 0).next()?;
        let text = std::str::from_utf8(text).ok()?.trim_end();
        text.starts_with("Linux version ").then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{DATA, Kernel};
    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let lengths = [name.len() as u32, description.len() as u32, kind];
        let mut bytes: Vec<u8> = lengths.iter().flat_map(|word| word.to_le_bytes()).collect();
        for part in [name, description] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
        let mut kernel = Kernel::new();
        kernel.section(".notes", elf::SHT_NOTE, elf::SHF_ALLOC, 0x1000, notes.to_vec());
        let bytes = kernel.build();
        Image::parse("vmlinux", &bytes).unwrap().build_id()
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let id = [7; 20];
        let notes = [note(b"Xen\0", 3, b"no"), note(b"GNU\0", 3, &id), note(b"Linux\0", 0, b"no")];
        assert_eq!(build_id(&notes.concat()), Some(id.to_vec()));
    }

    #[test]
    fn damaged_notes_are_no_build_id() {
        let whole = note(b"GNU\0", 3, &[7; 20]);
        for length in 0..whole.len() {
            assert_eq!(build_id(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(build_id(&note(b"GNU\0", 3, &[])), None);
        assert_eq!(build_id(&note(b"GNU\0", 3, &[7; 65])), None);
        let mut huge = whole.clone();
        huge[4..8].fill(0xff);
        assert_eq!(build_id(&huge), None);
    }

    #[test]
    fn the_banner_ends_at_its_end_of_line() {
        let mut kernel = Kernel::new();
        kernel.poke(DATA + 8, b"Linux version 6.1.0 (me@here) #1 SMP\n\0rest").object(
            "linux_banner",
            DATA + 8,
            38,
        );
        let bytes = kernel.build();
        let banner = Image::parse("vmlinux", &bytes).unwrap().banner();
        assert_eq!(banner.as_deref(), Some("Linux version 6.1.0 (me@here) #1 SMP"));

        kernel.poke(DATA + 8, b"linux");
        let bytes = kernel.build();
        assert_eq!(Image::parse("vmlinux", &bytes).unwrap().banner(), None);
        assert_eq!(Image::parse("vmlinux", &Kernel::new().build()).unwrap().banner(), None);
    }
}
