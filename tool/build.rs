//! Embeds the eBPF object, or a stub where nobody built it: `cargo check` must work with nothing but Rust.

use std::{env, fs, path::PathBuf};

const VARIABLE: &str = "INJECT_EBPF_OBJECT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let embedded =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("inject-ebpf.o");
    match env::var_os(VARIABLE) {
        Some(object) => {
            println!("cargo::rerun-if-changed={}", PathBuf::from(&object).display());
            fs::copy(&object, &embedded)
                .unwrap_or_else(|error| panic!("{VARIABLE}={}: {error}", object.display()));
        }
        None => fs::write(&embedded, []).expect("the output folder is cargo's own"),
    }
}
