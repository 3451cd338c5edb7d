use object::elf;

use crate::image::{
    Image, ImageError,
    testing::{DATA, Kernel, SIZE, TEXT, entry24},
};

fn kernel() -> Kernel {
    let mut kernel = Kernel::new();
    kernel
        .function("alloc_it", TEXT, 16)
        .label("__start___jump_table", DATA)
        .label("__stop___jump_table", DATA)
        .whitelist(24, &[("alloc_it", entry24(TEXT, DATA, 2))]);
    kernel
}

fn error(bytes: &[u8]) -> ImageError {
    match Image::parse("vmlinux", bytes) {
        Ok(_) => panic!("it was read without an error"),
        Err(error) => error,
    }
}

#[test]
fn a_truncated_copy_is_an_error_wherever_it_ends() {
    let whole = kernel().build();
    assert_eq!(Image::parse("vmlinux", &whole).unwrap().whitelist().unwrap().len(), 1);
    for length in (0..whole.len()).step_by(7) {
        let error = error(&whole[..length]);
        let expected = matches!(
            error,
            // Less than the magic is no ELF file yet.
            ImageError::Truncated { .. } | ImageError::NotAnImage { .. }
        );
        assert!(expected, "at {length}: {error}");
        assert_eq!(length < 4, matches!(error, ImageError::NotAnImage { .. }));
    }
}

#[test]
fn a_section_beyond_the_end_is_named_with_both_lengths() {
    let mut bytes = kernel().build();
    // The last section header is .shstrtab's; its offset is the fourth field.
    let at = bytes.len() - 64 + 24;
    let length = bytes.len() as u64;
    bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
    let text = error(&bytes).to_string();
    assert!(text.contains(&format!("the file has {length}; copy it again")), "{text}");
}

#[test]
fn any_changed_byte_is_an_error_or_an_answer_but_no_panic() {
    let whole = kernel().build();
    // Headers, tables and symbols; the code and data in between say nothing.
    let tables = whole.len() - 1600;
    for at in (0..64).chain(tables..whole.len()) {
        for change in [0xff, 0x80, 0x01] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let Ok(image) = Image::parse("vmlinux", &bytes) else { continue };
            let _ = image.whitelist();
            let _ = image.sites_of(DATA);
            let _ = image.initial_count(DATA);
            let _ = (image.build_id(), image.banner());
        }
    }
}

#[test]
fn sections_that_overlap_are_an_error() {
    let mut kernel = kernel();
    kernel.data(".extra", DATA + SIZE - 1, vec![0; 2]);
    let text = error(&kernel.build()).to_string();
    assert!(text.contains(".extra") && text.contains("overlaps section .data"), "{text}");
}

#[test]
fn a_section_at_the_end_of_memory_does_not_wrap() {
    let mut kernel = kernel();
    kernel.data(".extra", u64::MAX - 3, vec![0; 8]);
    let text = error(&kernel.build()).to_string();
    assert!(text.contains("end of memory"), "{text}");
}

#[test]
fn a_debug_only_copy_is_called_that() {
    let mut kernel = Kernel::new();
    let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    kernel.section(".more.text", elf::SHT_NOBITS, flags, 0x1000, vec![0; 8]);
    let error = error(&kernel.build());
    assert!(matches!(error, ImageError::DebugOnly { .. }), "{error}");
}

#[test]
fn a_global_symbol_goes_before_a_local_one_of_the_same_name() {
    let mut kernel = kernel();
    kernel
        .object("twice", DATA, 8)
        .object("twice", DATA + 8, 8)
        .object("once", DATA + 16, 8)
        .label("once_more", DATA + 24);
    let bytes = kernel.build();
    let image = Image::parse("vmlinux", &bytes).unwrap();
    assert_eq!(image.symbol("twice"), Some(DATA));
    assert_eq!(image.symbol("once"), Some(DATA + 16));
    assert_eq!(image.symbol("onc"), None);

    kernel.label("twice", DATA + 32);
    let bytes = kernel.build();
    let image = Image::parse("vmlinux", &bytes).unwrap();
    assert_eq!(image.symbol("twice"), Some(DATA + 32));
}

#[test]
fn other_files_are_told_what_they_are() {
    let pie = kernel().kind(elf::ET_DYN).build();
    let big = kernel().big_endian().build();
    let mut narrow = kernel().build();
    narrow[4] = 1;
    let mut arm64_boot = vec![0; 0x40];
    arm64_boot[0x38..0x3c].copy_from_slice(b"ARM\x64");
    let expected = [
        (pie, "position-independent"),
        (big, "big-endian"),
        (narrow, "32-bit"),
        (arm64_boot, "arm64 boot image"),
        (b"#!/bin/sh\n".to_vec(), "not a kernel image"),
        (Vec::new(), "not a kernel image"),
    ];
    for (bytes, expected) in expected {
        let text = error(&bytes).to_string();
        assert!(text.starts_with("vmlinux is ") && text.contains(expected), "{text}");
    }
}
