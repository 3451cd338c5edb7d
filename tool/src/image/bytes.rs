//! Where an image's bytes live.

use std::ops::Deref;

use memmap2::Mmap;

/// The bytes of an image file. Whoever reads them does not need to know where they come from.
pub(super) enum Bytes<'a> {
    Mapped(Mmap),
    Borrowed(&'a [u8]),
    /// Decompressed, or linked from a module.
    Owned(Vec<u8>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}
