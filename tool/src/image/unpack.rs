//! Decompression: of a `vmlinuz`'s payload, and of whole files such as `.ko.xz`.
//!
//! All decoders are safe Rust. What comes out is bounded, so that a small file cannot fill the memory.

use std::io::{self, Read};

use super::{ImageError, payload};

/// More than this is damage: an unstripped `vmlinux` of a distribution has some 900 MB.
const MAX_OUTPUT: u64 = 2 << 30;
/// Dictionaries and windows larger than this are refused; the kernel's own have 128 MiB at most
/// (`scripts/Makefile.lib`: `zstd --ultra -22`, `xz` with `dict=32MiB`).
const MAX_WINDOW: u64 = 128 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Xz,
    Zstd,
    /// Blocks of 8 MiB, as `lz4 -l` writes it and the kernel's build uses it.
    Lz4Legacy,
    Unsupported(&'static str),
}

/// First bytes, as `Documentation/arch/x86/boot.rst` lists them for the payload.
const MAGICS: [(&[u8], Format); 8] = [
    (b"\x1f\x8b", Format::Gzip),
    (b"\xfd7zXZ\0", Format::Xz),
    (b"\x28\xb5\x2f\xfd", Format::Zstd),
    (b"\x02\x21\x4c\x18", Format::Lz4Legacy),
    (b"\x04\x22\x4d\x18", Format::Unsupported("lz4 frames")),
    (b"BZh", Format::Unsupported("bzip2")),
    (b"\x89LZO", Format::Unsupported("lzo")),
    (b"\x5d\0\0", Format::Unsupported("lzma")),
];

impl Format {
    fn of(data: &[u8]) -> Option<Self> {
        MAGICS.iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, format)| *format)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lz4Legacy => "lz4",
            Self::Unsupported(name) => name,
        }
    }
}

/// What is in `data` if it is a boot image or compressed; None if it is neither.
pub(super) fn unpack(name: &str, data: &[u8]) -> Result<Option<Vec<u8>>, ImageError> {
    if data.starts_with(&object::elf::ELFMAG) {
        return Ok(None);
    }
    if let Some(payload) = payload::find(name, data)? {
        if payload.starts_with(&object::elf::ELFMAG) {
            return Ok(Some(payload.to_vec()));
        }
        let format = Format::of(payload)
            .ok_or_else(|| ImageError::Compressed { name: name.to_owned(), format: "something" })?;
        // The build appends the size of what is inside, 4 bytes; gzip ends with it anyway.
        let (body, size) = payload.split_last_chunk::<4>().unwrap_or((payload, &[0; 4]));
        let body = if format == Format::Gzip { payload } else { body };
        return decompress(name, format, body, u32::from_le_bytes(*size).into()).map(Some);
    }
    match Format::of(data) {
        Some(format) => decompress(name, format, data, 0).map(Some),
        None => Ok(None),
    }
}

/// `size` is what the file claims, and only a hint; 0: nothing is known.
fn decompress(name: &str, format: Format, data: &[u8], size: u64) -> Result<Vec<u8>, ImageError> {
    let result = match format {
        Format::Gzip => read(flate2::bufread::GzDecoder::new(data), size),
        Format::Xz => {
            let limit = (MAX_WINDOW >> 10) as u32;
            read(lzma_rust2::XzReader::new_mem_limit(data, false, limit), size)
        }
        Format::Zstd => {
            ruzstd::decoding::StreamingDecoder::new_with_max_window_size(data, MAX_WINDOW)
                .map_err(io::Error::other)
                .and_then(|decoder| read(decoder, size))
        }
        Format::Lz4Legacy => lz4_legacy(data),
        Format::Unsupported(format) => {
            return Err(ImageError::Compressed { name: name.to_owned(), format });
        }
    };
    result.map_err(|error| ImageError::Decompress {
        name: name.to_owned(),
        format: format.name(),
        problem: error.to_string(),
    })
}

fn read(decoder: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    // Pages that nobody writes cost nothing, so that a lie costs nothing either.
    out.try_reserve(size.min(MAX_OUTPUT) as usize).map_err(io::Error::other)?;
    decoder.take(MAX_OUTPUT + 1).read_to_end(&mut out)?;
    bounded(out)
}

fn bounded(out: Vec<u8>) -> io::Result<Vec<u8>> {
    if out.len() as u64 > MAX_OUTPUT {
        return Err(io::Error::other(format!("more than {} MiB come out", MAX_OUTPUT >> 20)));
    }
    Ok(out)
}

/// What a block of the legacy format holds at most.
const LZ4_BLOCK: usize = 8 << 20;

/// The magic, then blocks: a length of 4 bytes and that many bytes. All but the last hold 8 MiB.
fn lz4_legacy(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = data.get(4..).unwrap_or_default();
    let early = || io::Error::from(io::ErrorKind::UnexpectedEof);
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(early)?;
        let (block, after) =
            after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(early)?;
        let at = out.len();
        out.resize(at + LZ4_BLOCK, 0);
        let written = lz4_flex::block::decompress_into(block, &mut out[at..]);
        out.truncate(at + written.map_err(io::Error::other)?);
        out = bounded(out)?;
        rest = after;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
