use super::*;
use crate::image::testing::{BSS, DATA, INIT_DATA, Kernel, TEXT, btf, entry16, entry24};

const KEYED: &[(&str, u32)] = &[("addr", 0), ("static_key_addr", 64), ("etype", 128)];
const PLAIN: &[(&str, u32)] = &[("addr", 0), ("etype", 64)];

/// Three functions in 16-byte entries.
fn plain() -> Kernel {
    let mut kernel = Kernel::new();
    kernel
        .function("open_it", TEXT, 16)
        .function("close_it", TEXT + 16, 16)
        .function("is_bad", TEXT + 32, 16)
        .whitelist(
            16,
            &[
                ("open_it", entry16(TEXT, 3)),
                ("close_it", entry16(TEXT + 16, 2)),
                ("is_bad", entry16(TEXT + 32, 4)),
            ],
        );
    kernel
}

/// Three functions in 24-byte entries, `stride` bytes apart: a key in .bss, none, a key inside an object in .data.
fn keyed(stride: u64) -> Kernel {
    let mut kernel = Kernel::new();
    kernel
        .function("alloc_it", TEXT, 16)
        .function("free_it", TEXT + 16, 16)
        .function("map_it", TEXT + 32, 16)
        .object("alloc_it_active", BSS + 64, 16)
        .object("map_state", DATA + 32, 64)
        .whitelist(
            stride,
            &[
                ("alloc_it", entry24(TEXT, BSS + 64, 2)),
                ("free_it", entry24(TEXT + 16, 0, 2)),
                ("map_it", entry24(TEXT + 32, DATA + 48, 1)),
            ],
        );
    kernel
}

fn with_btf(kernel: &mut Kernel, size: u32, members: &[(&str, u32)]) {
    kernel.data(".BTF", 0xffff_ffff_8600_0000, btf("error_injection_entry", size, members));
}

/// The whitelist in short: "name type key".
fn read(kernel: &Kernel) -> Result<Vec<String>, ImageError> {
    let bytes = kernel.build();
    let entries = Image::parse("vmlinux", &bytes)?.whitelist()?;
    Ok(entries.iter().map(short).collect())
}

fn short(entry: &Entry) -> String {
    let key = entry.key.as_ref().map_or("-", |key| &key.name);
    format!("{} {} {key}", entry.names.join("="), entry.error_type)
}

fn problem(kernel: &Kernel) -> String {
    read(kernel).unwrap_err().to_string()
}

const PLAIN_ENTRIES: [&str; 3] = ["open_it ERRNO_NULL -", "close_it ERRNO -", "is_bad TRUE -"];
const KEYED_ENTRIES: [&str; 3] =
    ["alloc_it ERRNO alloc_it_active", "free_it ERRNO -", "map_it NULL map_state+0x10"];

#[test]
fn entries_of_16_bytes_are_read_by_symbols_alone() {
    assert_eq!(read(&plain()).unwrap(), PLAIN_ENTRIES);
}

#[test]
fn entries_of_24_bytes_carry_a_key() {
    assert_eq!(read(&keyed(24)).unwrap(), KEYED_ENTRIES);
}

#[test]
fn padding_between_entries_is_seen_by_their_symbols() {
    assert_eq!(read(&keyed(32)).unwrap(), KEYED_ENTRIES);
}

#[test]
fn btf_that_agrees_changes_nothing() {
    let mut kernel = keyed(32);
    with_btf(&mut kernel, 24, KEYED);
    assert_eq!(read(&kernel).unwrap(), KEYED_ENTRIES);
}

#[test]
fn btf_alone_tells_the_layout() {
    let mut kernel = keyed(24);
    with_btf(&mut kernel, 24, KEYED);
    kernel.without_symbols("_eil_addr_");
    assert_eq!(read(&kernel).unwrap(), KEYED_ENTRIES);

    let mut kernel = plain();
    with_btf(&mut kernel, 16, PLAIN);
    kernel.without_symbols("_eil_addr_");
    assert_eq!(read(&kernel).unwrap(), PLAIN_ENTRIES);
}

#[test]
fn members_are_where_btf_says_they_are() {
    let mut kernel = keyed(24);
    // The type moved to the front: the entries as they are cannot be that.
    let moved = [("etype", 0), ("addr", 64), ("static_key_addr", 128)];
    with_btf(&mut kernel, 24, &moved);
    assert!(problem(&kernel).contains("no code"), "{}", problem(&kernel));
}

#[test]
fn a_stripped_image_is_read_between_bounds_given() {
    let mut kernel = keyed(24);
    with_btf(&mut kernel, 24, KEYED);
    kernel.without_symbols("");
    let bytes = kernel.build();
    let image = Image::parse("vmlinux", &bytes).unwrap();

    let error = image.whitelist().unwrap_err();
    assert!(matches!(error, ImageError::Stripped { .. }), "{error}");

    let entries = image.whitelist_between(INIT_DATA..INIT_DATA + 72).unwrap();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[0].address, TEXT);
    assert!(entries[0].names.is_empty());
    let key = entries[0].key.as_ref().unwrap();
    assert_eq!((key.address, key.name.as_str()), (BSS + 64, "0xffffffff85000040"));
}

#[test]
fn btf_and_symbols_that_disagree_are_an_error() {
    let mut kernel = plain();
    with_btf(&mut kernel, 24, KEYED);
    let error = read(&kernel).unwrap_err();
    let sizes = |btf, symbols| format!("{btf} bytes, the _eil_addr_ symbols say {symbols}");
    assert!(matches!(error, ImageError::LayoutMismatch { .. }), "{error}");
    assert!(error.to_string().contains(&sizes(24, 16)), "{error}");
}

#[test]
fn without_btf_and_symbols_there_is_no_guess() {
    let mut kernel = plain();
    kernel.without_symbols("_eil_addr_");
    let error = read(&kernel).unwrap_err();
    assert!(matches!(error, ImageError::NoLayout { .. }), "{error}");
}

#[test]
fn padding_without_symbols_is_not_read_as_entries() {
    let mut kernel = keyed(32);
    with_btf(&mut kernel, 24, KEYED);
    kernel.without_symbols("_eil_addr_");
    let error = read(&kernel).unwrap_err();
    assert!(matches!(error, ImageError::NoLayout { .. }), "{error}");
}

#[test]
fn an_unknown_member_is_not_ignored() {
    let mut kernel = keyed(24);
    let members = [("addr", 0), ("guard", 64), ("etype", 128)];
    with_btf(&mut kernel, 24, &members);
    assert!(problem(&kernel).contains("guard"), "{}", problem(&kernel));
}

#[test]
fn an_unknown_size_without_btf_is_not_guessed_at() {
    let mut kernel = Kernel::new();
    let long = [entry24(TEXT, 0, 2), vec![0; 8]].concat();
    kernel.function("f", TEXT, 16).whitelist(32, &[("f", long)]);
    assert!(problem(&kernel).contains("32 bytes"), "{}", problem(&kernel));
}

#[test]
fn a_hole_in_the_symbols_is_an_error() {
    // In the middle, at the end, at the start, and all but one.
    for gone in [&["close_it"][..], &["is_bad"], &["open_it"], &["close_it", "is_bad"]] {
        let mut kernel = plain();
        for name in gone {
            kernel.without_symbols(&format!("_eil_addr_{name}"));
        }
        let error = read(&kernel).unwrap_err();
        assert!(matches!(error, ImageError::Malformed { .. }), "{gone:?}: {error}");
    }
}

#[test]
fn a_symbol_outside_the_list_is_an_error() {
    let mut kernel = plain();
    kernel.object("_eil_addr_stray", DATA, 16);
    assert!(problem(&kernel).contains("outside the whitelist"), "{}", problem(&kernel));
}

#[test]
fn aliases_are_all_named_the_marked_one_first() {
    let mut kernel = Kernel::new();
    kernel
        .function("__do_sys_sync", TEXT, 16)
        .function("__ia32_sys_sync", TEXT, 16)
        .function("__x64_sys_sync", TEXT, 16)
        .object("not_a_function", TEXT, 16)
        .whitelist(16, &[("__x64_sys_sync", entry16(TEXT, 2))]);
    let names = "__x64_sys_sync=__do_sys_sync=__ia32_sys_sync ERRNO -";
    assert_eq!(read(&kernel).unwrap(), [names]);
}

#[test]
fn an_entry_that_cannot_be_one_is_placed_in_the_error() {
    let mut kernel = plain();
    kernel.poke(INIT_DATA + 16, &DATA.to_le_bytes());
    let text = problem(&kernel);
    assert!(text.starts_with("vmlinux: .init.data, offset 0x10: "), "{text}");

    for error_type in [0u32, 5, u32::MAX] {
        let mut kernel = plain();
        kernel.poke(INIT_DATA + 32 + 8, &error_type.to_le_bytes());
        let text = problem(&kernel);
        assert!(text.contains(&format!("error type {error_type}")), "{text}");
    }
    // A key that is code, one that is nowhere, one that no jump table could refer to.
    for key in [TEXT, 1 << 40, DATA + 2] {
        let mut kernel = keyed(24);
        kernel.poke(INIT_DATA + 24 + 8, &key.to_le_bytes());
        assert!(problem(&kernel).contains("static key"), "{}", problem(&kernel));
    }
}

#[test]
fn bounds_that_are_wrong_are_errors() {
    let bytes = keyed(24).build();
    let image = Image::parse("vmlinux", &bytes).unwrap();
    let outside = image.whitelist_between(INIT_DATA..u64::MAX).unwrap_err();
    assert!(matches!(outside, ImageError::Unmapped { .. }), "{outside}");
    let (start, stop) = (INIT_DATA + 24, INIT_DATA);
    let backwards = image.whitelist_between(start..stop).unwrap_err();
    assert!(backwards.to_string().contains("before it starts"), "{backwards}");
    let zeroes = image.whitelist_between(BSS..BSS + 48).unwrap_err();
    assert!(zeroes.to_string().contains("no bytes"), "{zeroes}");
}

#[test]
fn a_kernel_without_error_injection_is_told_from_a_stripped_one() {
    let mut kernel = Kernel::new();
    kernel.function("f", TEXT, 16);
    assert!(problem(&kernel).contains("CONFIG_FUNCTION_ERROR_INJECTION"));
    assert!(problem(&Kernel::new()).contains("has no symbols"));
}

#[test]
fn an_empty_list_is_no_error() {
    let mut kernel = Kernel::new();
    kernel.whitelist(16, &[]);
    assert_eq!(read(&kernel).unwrap(), [""; 0]);
}
