//! `keys.rs` and tool-kmod/inject_keys.h state one interface: the C compiler is asked whether they agree.

use std::{fs, process::Command};

use inject_common::keys::{
    CAN_HOLD, Count, Function, IOC_COUNT, IOC_HOLD, IOC_RELEASE, IOC_RELEASE_ALL, IOC_VERSION,
    List, MAX_REFERENCES, VERSION, Version,
};

#[test]
fn the_c_header_has_the_same_numbers_sizes_and_offsets() {
    let facts = [
        ("INJECT_KEYS_VERSION", VERSION as usize),
        ("INJECT_KEYS_CAN_HOLD", CAN_HOLD as usize),
        ("INJECT_KEYS_MAX", MAX_REFERENCES),
        ("INJECT_KEYS_IOC_VERSION", IOC_VERSION as usize),
        ("INJECT_KEYS_IOC_HOLD", IOC_HOLD as usize),
        ("INJECT_KEYS_IOC_RELEASE", IOC_RELEASE as usize),
        ("INJECT_KEYS_IOC_RELEASE_ALL", IOC_RELEASE_ALL as usize),
        ("INJECT_KEYS_IOC_COUNT", IOC_COUNT as usize),
        ("sizeof(struct inject_keys_version)", size_of::<Version>()),
        ("sizeof(struct inject_keys_function)", size_of::<Function>()),
        ("sizeof(struct inject_keys_list)", size_of::<List>()),
        ("sizeof(struct inject_keys_count)", size_of::<Count>()),
        ("offsetof(struct inject_keys_version, features)", std::mem::offset_of!(Version, features)),
        ("offsetof(struct inject_keys_function, key)", std::mem::offset_of!(Function, key)),
        ("offsetof(struct inject_keys_list, count)", std::mem::offset_of!(List, count)),
        ("offsetof(struct inject_keys_list, failed)", std::mem::offset_of!(List, failed)),
        ("offsetof(struct inject_keys_count, count)", std::mem::offset_of!(Count, count)),
        ("offsetof(struct inject_keys_count, held)", std::mem::offset_of!(Count, held)),
    ];
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../tool-kmod/inject_keys.h");
    let mut source = format!("#include <stddef.h>\n#include \"{header}\"\n");
    for (expression, value) in facts {
        source += &format!("_Static_assert({expression} == {value}u, \"{expression}\");\n");
    }
    let file = format!("{}/keys_header.c", env!("CARGO_TARGET_TMPDIR"));
    fs::write(&file, source).unwrap();
    // Rust links with a C compiler, so there is one.
    let output = Command::new("cc").args(["-fsyntax-only", "-Wall", &file]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
