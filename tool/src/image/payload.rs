//! The compressed kernel inside an x86 `vmlinuz`, found by its boot header.
//!
//! `Documentation/arch/x86/boot.rst`: the payload starts `payload_offset` bytes after the protected-mode code, which
//! follows the boot sector and `setup_sects` more sectors.

use super::ImageError;

const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The first version of the boot protocol that says where the payload is: Linux 2.6.26.
const MIN_VERSION: u16 = 0x0208;
const SECTOR: u64 = 512;
/// What 0 in `setup_sects` means.
const DEFAULT_SECTORS: u8 = 4;

/// The payload; None if `data` is no x86 boot image.
pub(super) fn find<'d>(name: &str, data: &'d [u8]) -> Result<Option<&'d [u8]>, ImageError> {
    if !data.get(MAGIC..).is_some_and(|rest| rest.starts_with(b"HdrS")) {
        return Ok(None);
    }
    let truncated = |section: &str, end: u64| ImageError::Truncated {
        name: name.to_owned(),
        section: section.to_owned(),
        end,
        length: data.len() as u64,
    };
    let early = || truncated("the boot header", PAYLOAD_LENGTH as u64 + 4);
    let version = data.get(VERSION..).and_then(|rest| rest.first_chunk());
    let version = u16::from_le_bytes(*version.ok_or_else(early)?);
    if version < MIN_VERSION {
        return Err(ImageError::Unsupported {
            name: name.to_owned(),
            kind: format!("a boot image of protocol {}.{:02}", version >> 8, version & 0xff),
        });
    }
    let word = |at: usize| data.get(at..).and_then(|rest| rest.first_chunk());
    let offset = u32::from_le_bytes(*word(PAYLOAD_OFFSET).ok_or_else(early)?);
    let length = u32::from_le_bytes(*word(PAYLOAD_LENGTH).ok_or_else(early)?);
    let sectors = match data[SETUP_SECTORS] {
        0 => DEFAULT_SECTORS,
        sectors => sectors,
    };
    // A byte of sectors and two numbers of 32 bits: nothing overflows.
    let start = (u64::from(sectors) + 1) * SECTOR + u64::from(offset);
    let end = start + u64::from(length);
    if length == 0 || end > data.len() as u64 {
        return Err(truncated("the compressed kernel", end));
    }
    Ok(Some(&data[start as usize..end as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::testing::vmlinuz;

    #[test]
    fn the_payload_is_where_the_header_says() {
        let image = vmlinuz(b"payload");
        assert_eq!(find("vmlinuz", &image).unwrap(), Some(&b"payload"[..]));
        let mut default = vmlinuz(b"payload");
        // Four sectors more than one; the helper makes one.
        default[SETUP_SECTORS] = 0;
        assert!(matches!(find("vmlinuz", &default), Err(ImageError::Truncated { .. })));
        default.splice(1024..1024, vec![0; 3 * 512]);
        assert_eq!(find("vmlinuz", &default).unwrap(), Some(&b"payload"[..]));
    }

    #[test]
    fn a_cut_one_is_called_truncated_and_an_old_one_by_its_protocol() {
        let image = vmlinuz(b"payload");
        for length in MAGIC + 4..image.len() {
            let error = find("vmlinuz", &image[..length]).unwrap_err();
            assert!(matches!(error, ImageError::Truncated { .. }), "{length}: {error}");
        }
        let mut old = image.clone();
        old[VERSION] = 7;
        let error = find("vmlinuz", &old).unwrap_err().to_string();
        assert!(error.contains("protocol 2.07"), "{error}");
        let mut huge = image;
        huge[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 8].fill(0xff);
        assert!(matches!(find("vmlinuz", &huge), Err(ImageError::Truncated { .. })));
    }

    #[test]
    fn other_files_have_none() {
        assert_eq!(find("x", b"").unwrap(), None);
        assert_eq!(find("x", &[0; 4096]).unwrap(), None);
    }
}
