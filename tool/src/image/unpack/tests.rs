use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use super::*;
use crate::image::{
    Image,
    testing::{Kernel, TEXT, entry16, vmlinuz},
};

fn kernel() -> Vec<u8> {
    let mut kernel = Kernel::new();
    kernel.function("open_it", TEXT, 16).whitelist(16, &[("open_it", entry16(TEXT, 3))]);
    kernel.build()
}

/// As the kernel's build compresses it (`scripts/Makefile.lib`); None where the program is missing.
fn compressed(command: &[&str], data: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let data = data.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&data));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(out.status.success());
    Some(out.stdout)
}

const XZ: &[&str] = &["xz", "--check=crc32", "--x86", "--lzma2=dict=32MiB", "-c"];
const COMMANDS: [&[&str]; 4] =
    [&["gzip", "-n", "-9", "-c"], XZ, &["zstd", "-q", "-c"], &["lz4", "-l", "-q", "-c"]];

fn listed(bytes: &[u8]) -> Vec<String> {
    let image = Image::parse("vmlinuz", bytes).unwrap();
    image.whitelist().unwrap().into_iter().flat_map(|entry| entry.names).collect()
}

#[test]
fn every_compression_of_a_boot_image_and_of_a_whole_file_is_read() {
    let kernel = kernel();
    for command in COMMANDS {
        // gzip and xz are on every Debian; the others are installed for the kernel's build.
        let Some(mut packed) = compressed(command, &kernel) else {
            assert!(!["gzip", "xz"].contains(&command[0]), "{} is not there", command[0]);
            continue;
        };
        assert_eq!(listed(&packed), ["open_it"], "{command:?}");
        if command[0] != "gzip" {
            packed.extend((kernel.len() as u32).to_le_bytes());
        }
        assert_eq!(listed(&vmlinuz(&packed)), ["open_it"], "{command:?}");
    }
    assert_eq!(listed(&vmlinuz(&kernel)), ["open_it"]);
}

#[test]
fn damage_is_an_error_that_names_the_format() {
    let kernel = kernel();
    for command in COMMANDS {
        let Some(packed) = compressed(command, &kernel) else { continue };
        for cut in [7, packed.len() / 2, packed.len() - 1] {
            let error = unpack("m.ko", &packed[..cut]).unwrap_err();
            assert!(matches!(error, ImageError::Decompress { .. }), "{command:?} {cut}: {error}");
        }
        for at in (0..packed.len()).step_by(29) {
            let mut changed = packed.clone();
            changed[at] ^= 0x55;
            let _ = unpack("m.ko", &changed);
        }
    }
}

#[test]
fn other_compressions_are_named() {
    for (magic, name) in [(&b"BZh9"[..], "bzip2"), (b"\x89LZO\0", "lzo"), (b"\x5d\0\0\x80", "lzma")]
    {
        for bytes in [magic.to_vec(), vmlinuz(&[magic, &[0; 8]].concat())] {
            let error = unpack("vmlinuz", &bytes).unwrap_err().to_string();
            assert!(error.contains(&format!("compressed with {name}")), "{error}");
        }
    }
    let error = unpack("vmlinuz", &vmlinuz(b"whatever")).unwrap_err().to_string();
    assert!(error.contains("compressed with something"), "{error}");
}

#[test]
fn a_size_that_lies_costs_nothing() {
    let Some(mut packed) = compressed(XZ, &kernel()) else { panic!("xz is not there") };
    packed.extend(u32::MAX.to_le_bytes());
    assert_eq!(listed(&vmlinuz(&packed)), ["open_it"]);
}
