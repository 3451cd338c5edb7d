use object::elf::{
    EM_AARCH64, ET_REL, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS, STT_FUNC,
    STT_OBJECT, STT_SECTION,
};

use crate::image::{
    Image,
    testing::{Kernel, entry24},
};

const ABS64: u64 = 1;
const PC32: u64 = 2;
const PC64: u64 = 24;

fn by(symbol: u64, kind: u64) -> u64 {
    symbol << 32 | kind
}

/// A module with two injectable functions, the first of them behind its own key, the second behind somebody else's,
/// and a site of the first key.
pub(in crate::image) fn module() -> Kernel {
    let mut module = Kernel::empty(ET_REL);
    let (text, data) = (SHF_ALLOC | SHF_EXECINSTR, SHF_ALLOC | SHF_WRITE);
    module
        .section(".text", SHT_PROGBITS, text, 0, vec![0x90; 64])
        .section(".bss", SHT_NOBITS, data, 0, Vec::new())
        .resize_last(64)
        .section("_error_injection_whitelist", SHT_PROGBITS, data, 0, {
            [entry24(0, 0, 2), entry24(0, 0, 1)].concat()
        })
        .section("__jump_table", SHT_PROGBITS, data, 0, vec![0; 16]);
    module
        .relocations(
            3,
            &[
                // Against the section, as the assembler writes it for local symbols.
                (0, by(1, ABS64), 0),
                (8, by(4, ABS64), 0),
                (24, by(3, ABS64), 0),
                (32, by(5, ABS64), 0),
            ],
        )
        .relocations(4, &[(0, by(1, PC32), 4), (4, by(1, PC32), 48), (8, by(4, PC64), 2)]);
    module
        .symbol_in(1, "", STT_SECTION, 0, 0)
        .symbol_in(1, "open_it", STT_FUNC, 0, 16)
        .symbol_in(1, "close_it", STT_FUNC, 32, 16)
        .symbol_in(2, "open_it_active", STT_OBJECT, 0, 16)
        .symbol_in(0, "foreign_key", STT_OBJECT, 0, 0)
        .symbol_in(3, "_eil_addr_open_it", STT_OBJECT, 0, 24)
        .symbol_in(3, "_eil_addr_close_it", STT_OBJECT, 24, 24);
    module
}

#[test]
fn whitelist_keys_and_sites_of_a_module_are_read_with_its_relocations() {
    let bytes = module().build();
    let image = Image::parse("m.ko", &bytes).unwrap();
    let entries = image.whitelist().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].names, ["open_it"]);
    assert_eq!(entries[1].names, ["close_it"]);
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.clone().unwrap()).collect();
    assert_eq!(keys[0].name, "open_it_active");
    assert_eq!(keys[1].name, "foreign_key");
    let sites = image.sites_of(keys[0].address).unwrap();
    assert_eq!(sites.len(), 1);
    assert_eq!(sites[0].function.as_deref(), Some("open_it"));
    assert_eq!(sites[0].address, entries[0].address + 4);
    assert_eq!(sites[0].target, entries[0].address + 48);
    assert!(image.sites_of(keys[1].address).unwrap().is_empty());
}

#[test]
fn a_module_without_a_whitelist_has_an_empty_one() {
    let mut module = Kernel::empty(ET_REL);
    module.section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, vec![0x90; 64]);
    let bytes = module.build();
    assert!(Image::parse("m.ko", &bytes).unwrap().whitelist().unwrap().is_empty());
}

#[test]
fn a_module_of_arm64_is_read_as_well() {
    let mut module = Kernel::empty(ET_REL);
    module
        .machine(EM_AARCH64)
        .section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, vec![0x90; 64])
        .section("_error_injection_whitelist", SHT_PROGBITS, SHF_ALLOC, 0, entry24(0, 0, 2))
        // Its text has relocations of every kind.
        .relocations(1, &[(0, by(1, 283), 0)])
        .relocations(2, &[(0, by(1, 257), 0)])
        .symbol_in(1, "open_it", STT_FUNC, 0, 16)
        .symbol_in(2, "_eil_addr_open_it", STT_OBJECT, 0, 24);
    let bytes = module.build();
    let entries = Image::parse("m.ko", &bytes).unwrap().whitelist().unwrap();
    assert_eq!(entries[0].names, ["open_it"]);
}

fn error(module: &Kernel) -> String {
    match Image::parse("m.ko", &module.build()) {
        Ok(_) => panic!("it was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn relocations_that_cannot_be_are_errors_with_section_and_offset() {
    for (relocation, problem) in [
        ((60, by(1, ABS64), 0), ".text, offset 0x3c: a relocation lies outside the section"),
        ((u64::MAX, by(1, ABS64), 0), "a relocation lies outside the section"),
        ((8, by(99, ABS64), 0), ".text, offset 0x8: it is relocated by symbol 99"),
        ((8, by(1, 9), 0), "no module has relocations of type 9"),
    ] {
        let mut module = module();
        module.relocations(1, &[relocation]);
        let error = error(&module);
        assert!(error.contains(problem), "{error}");
    }
    let mut huge = module();
    huge.section(".big", SHT_NOBITS, SHF_ALLOC, 0, Vec::new()).resize_last(1 << 40);
    assert!(error(&huge).contains(".big, offset 0x0: 0x10000000000 bytes are more than modules"));
}

/// Found by fuzzing.
#[test]
fn the_null_section_relocates_nothing() {
    let mut bytes = module().build();
    let table = u64::from_le_bytes(*bytes[0x28..].first_chunk().unwrap()) as usize;
    // Its type, a place far outside the file, and the section that it is for.
    bytes[table + 4..table + 8].copy_from_slice(&4_u32.to_le_bytes());
    bytes[table + 24..table + 40].fill(0x7f);
    bytes[table + 44..table + 48].copy_from_slice(&1_u32.to_le_bytes());
    assert_eq!(Image::parse("m.ko", &bytes).unwrap().whitelist().unwrap().len(), 2);
}

#[test]
fn any_changed_byte_is_an_error_or_an_answer_but_no_panic() {
    let whole = module().build();
    for at in 0..whole.len() {
        for change in [0xff, 0x80, 0x01] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let Ok(image) = Image::parse("m.ko", &bytes) else { continue };
            let _ = image.whitelist().map(|entries| {
                entries.iter().filter_map(|e| e.key.as_ref()).for_each(|key| {
                    let _ = image.sites_of(key.address);
                });
            });
        }
    }
}
