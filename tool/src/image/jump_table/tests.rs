use super::*;
use crate::image::testing::{BSS, DATA, INIT_TEXT, Kernel, TEXT};

const TABLE: u64 = 0xffff_ffff_8700_0000;

/// The bytes of an entry that stands at `at`.
fn entry(at: u64, code: u64, target: u64, key: u64, flags: u64) -> Vec<u8> {
    let code = code.wrapping_sub(at) as u32;
    let target = target.wrapping_sub(at + 4) as u32;
    let key = key.wrapping_sub(at + 8) | flags;
    [&code.to_le_bytes()[..], &target.to_le_bytes(), &key.to_le_bytes()].concat()
}

/// A kernel with a jump table of these entries: code, target, key, flags.
fn kernel(entries: &[(u64, u64, u64, u64)]) -> Kernel {
    let table: Vec<u8> = (TABLE..)
        .step_by(16)
        .zip(entries)
        .flat_map(|(at, &(code, target, key, flags))| entry(at, code, target, key, flags))
        .collect();
    let mut kernel = Kernel::new();
    kernel
        .label("__start___jump_table", TABLE)
        .label("__stop___jump_table", TABLE + table.len() as u64)
        .label("__init_begin", INIT_TEXT)
        .label("__init_end", INIT_TEXT + 0x1000)
        .function("kmalloc_it", TEXT, 64)
        .function("early", INIT_TEXT, 64)
        .data("__jump_table", TABLE, table);
    kernel
}

fn sites(kernel: &Kernel, key: u64) -> Result<Vec<Site>, ImageError> {
    Image::parse("vmlinux", &kernel.build())?.sites_of(key)
}

#[test]
fn the_sites_of_a_key_are_found_with_their_functions() {
    let kernel = kernel(&[
        (TEXT + 8, TEXT + 40, DATA, 0),
        (TEXT + 16, TEXT + 48, BSS, 2),
        // Bit 0: likely. Below the table and above it: the fields are signed.
        (INIT_TEXT + 4, INIT_TEXT + 32, DATA, 3),
    ]);
    let at = |offset: u64, name: &str| Site {
        address: TEXT + offset,
        target: TEXT + offset + 32,
        function: Some(name.to_owned()),
        jumps_when_off: false,
        init: false,
    };
    let early = Site {
        address: INIT_TEXT + 4,
        target: INIT_TEXT + 32,
        function: Some("early".to_owned()),
        jumps_when_off: true,
        init: true,
    };
    assert_eq!(sites(&kernel, DATA).unwrap(), [at(8, "kmalloc_it"), early]);
    assert_eq!(sites(&kernel, BSS).unwrap(), [at(16, "kmalloc_it")]);
    assert_eq!(sites(&kernel, BSS + 16).unwrap(), []);
}

#[test]
fn a_site_between_functions_has_no_name() {
    let kernel = kernel(&[(TEXT + 64, TEXT, DATA, 0)]);
    assert_eq!(sites(&kernel, DATA).unwrap()[0].function, None);
}

#[test]
fn an_entry_whose_code_is_no_code_is_placed_in_the_error() {
    for (code, target) in [(BSS, TEXT), (TEXT, BSS)] {
        let kernel = kernel(&[(TEXT, TEXT, BSS, 0), (code, target, DATA, 0)]);
        let text = sites(&kernel, DATA).unwrap_err().to_string();
        assert!(text.starts_with("vmlinux: __jump_table, offset 0x10: "), "{text}");
    }
}

#[test]
fn a_table_that_is_no_array_of_entries_is_an_error() {
    for (end, expected) in [(TABLE + 15, "16-byte entries"), (TABLE - 1, "before it starts")] {
        let mut kernel = kernel(&[(TEXT, TEXT, DATA, 0)]);
        kernel.without_symbols("__stop___jump_table");
        kernel.label("__stop___jump_table", end);
        let text = sites(&kernel, DATA).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_kernel_without_jump_labels_says_so() {
    let mut kernel = kernel(&[]);
    kernel.without_symbols("__start___jump_table");
    let text = sites(&kernel, DATA).unwrap_err().to_string();
    assert!(text.contains("CONFIG_JUMP_LABEL"), "{text}");
}
