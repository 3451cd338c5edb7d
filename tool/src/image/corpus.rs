//! The fuzz targets' corpus (`tool/fuzz/corpus`): files that the other tests are about.
//!
//! With `INJECT_WRITE_CORPUS=1` the test writes it.

use std::{fs, path::PathBuf};

use object::elf::{EM_AARCH64, ET_DYN, SHF_ALLOC, SHT_RELA};

use super::{
    Image, module,
    testing::{BSS, DATA, INIT_DATA, Kernel, TEXT, btf, entry16, entry24, rela},
};

const TABLE: u64 = 0xffff_ffff_8600_0000;

fn plain() -> Kernel {
    let mut kernel = Kernel::small();
    kernel
        .function("open_it", TEXT, 16)
        .function("is_bad", TEXT + 16, 16)
        .whitelist(16, &[("open_it", entry16(TEXT, 3)), ("is_bad", entry16(TEXT + 16, 4))]);
    kernel
}

/// A call behind a site, and BTF.
fn keyed() -> Kernel {
    let mut kernel = Kernel::small();
    let distance = |from: u64, to: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
    let code = [&[0x0f, 0x1f, 0x44, 0, 0, 0xc3, 0xe8][..], &distance(TEXT + 43, TEXT), &[0xc3]];
    let mut table = [distance(TABLE, TEXT + 32), distance(TABLE + 4, TEXT + 38)].concat();
    table.extend((BSS + 32).wrapping_sub(TABLE + 8).to_le_bytes());
    let members = [("addr", 0), ("static_key_addr", 64), ("etype", 128)];
    kernel
        .function("alloc_it", TEXT, 16)
        .function("caller", TEXT + 32, 12)
        .function("alloc_it.isra.0", TEXT + 48, 4)
        .object("alloc_it_active", BSS + 32, 16)
        .poke(TEXT + 32, &code.concat())
        .poke(DATA, &TEXT.to_le_bytes())
        .whitelist(24, &[("alloc_it", entry24(TEXT, BSS + 32, 2))])
        .label("__start___jump_table", TABLE)
        .label("__stop___jump_table", TABLE + 16)
        .data("__jump_table", TABLE, table)
        .data(".BTF", TABLE + 0x1000, btf("error_injection_entry", 24, &members));
    kernel
}

fn arm64() -> Kernel {
    let mut kernel = Kernel::small();
    let relocations = [(INIT_DATA, 1027, TEXT as i64), (INIT_DATA + 8, 1027, (BSS + 32) as i64)];
    kernel
        .machine(EM_AARCH64)
        .kind(ET_DYN)
        .function("alloc_it", TEXT, 16)
        .whitelist(24, &[("alloc_it", entry24(0, 0, 2))])
        .section(".rela.dyn", SHT_RELA, SHF_ALLOC, TABLE, rela(&relocations));
    kernel
}

fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("whitelist/plain", plain().build()),
        ("whitelist/keyed", keyed().build()),
        ("whitelist/arm64", arm64().build()),
        ("jump_table/keyed", keyed().build()),
        ("module/module.ko", module::tests::module().build()),
    ]
}

#[test]
fn the_fuzz_corpus_is_what_the_tests_build() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, bytes) in corpus() {
        let path = folder.join(name);
        if std::env::var_os("INJECT_WRITE_CORPUS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name}: set INJECT_WRITE_CORPUS=1");
        let image = Image::parse(name, &bytes).unwrap();
        assert!(!image.whitelist().unwrap().is_empty(), "{name}");
    }
}
