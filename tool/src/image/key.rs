//! Static keys as the image has them: their names, and their state at boot.

use super::{Image, ImageError};

/// A `struct static_key` in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Where it is, as linked: without the running kernel's KASLR slide.
    pub address: u64,
    /// Its symbol, `SYMBOL+0xOFFSET` if it is a part of something bigger, or its address if the image is stripped.
    pub name: String,
}

impl Image<'_> {
    /// The count with which a key boots: 0 is off, anything else on.
    ///
    /// Its first member, `atomic_t enabled` of `struct static_key` (`include/linux/jump_label.h`). What the kernel
    /// does with the key during boot (`static_branch_enable()` in an initcall) is not in it.
    ///
    /// # Errors
    /// [`ImageError::Unmapped`] if no section holds that address.
    pub fn initial_count(&self, key: u64) -> Result<i32, ImageError> {
        let bytes = self.file.read("a static key", key, 4)?;
        // Without bytes in the file it is in .bss, and all of that is 0.
        let bytes = bytes.and_then(|bytes| bytes.first_chunk().copied());
        Ok(bytes.map_or(0, i32::from_le_bytes))
    }

    /// The key that the entry at `at` names.
    pub(super) fn key(&self, at: u64, address: u64) -> Result<Key, ImageError> {
        let section = self.file.section_at(address);
        // The kernel keeps flags in the low two bits of references to keys, so a key's own are 0.
        if address & 3 != 0 || section.is_none_or(|section| section.executable) {
            let problem = format!("it names the static key {address:#x}, which is no data");
            return Err(self.file.malformed(at, problem));
        }
        let name = match self.objects().covering(&self.file, address) {
            Some((name, 0)) => name.to_owned(),
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{address:#x}"),
        };
        Ok(Key { address, name })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BSS, DATA, Kernel, SIZE};
    use super::*;

    #[test]
    fn a_key_in_bss_is_off_and_one_in_data_is_what_the_data_says() {
        let mut kernel = Kernel::new();
        kernel.poke(DATA + 16, &1i32.to_le_bytes()).poke(DATA + 32, &[0xff; 4]);
        let bytes = kernel.build();
        let image = Image::parse("vmlinux", &bytes).unwrap();
        assert_eq!(image.initial_count(BSS + 64).unwrap(), 0);
        assert_eq!(image.initial_count(DATA).unwrap(), 0);
        assert_eq!(image.initial_count(DATA + 16).unwrap(), 1);
        assert_eq!(image.initial_count(DATA + 32).unwrap(), -1);
    }

    #[test]
    fn a_key_that_is_nowhere_or_half_outside_is_an_error() {
        let bytes = Kernel::new().build();
        let image = Image::parse("vmlinux", &bytes).unwrap();
        for address in [0, DATA + SIZE - 2, BSS + SIZE - 2, u64::MAX] {
            let error = image.initial_count(address).unwrap_err();
            assert!(matches!(error, ImageError::Unmapped { .. }), "{error}");
        }
    }
}
