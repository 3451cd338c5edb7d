//! `inject list`: what can fail, from the running kernel and from its image.

use std::{os::unix::process::CommandExt as _, path::Path};

use anyhow::{Context as _, ensure};

use super::cases;
use crate::guest::{
    command::{Ran, inject, inject_command, shell},
    state::{kernel_is_keyed, keyed},
};
use inject::{image::Image, keys::KeyDevice};

cases![
    a_function_is_listed_with_its_key_and_mechanism,
    a_held_key_reads_as_on,
    the_list_is_the_kernels,
    the_image_agrees_with_the_running_kernel,
    a_glob_takes_several,
    every_call_is_guarded_where_there_are_keys,
    options_narrow_the_list,
    a_system_call_goes_by_its_plain_name,
    lsm_hooks_take_fmod_ret_only,
    json_names_every_caller,
    a_stripped_image_borrows_the_running_kernels_symbols,
];

fn row(stdout: &str, function: &str) -> anyhow::Result<Vec<String>> {
    let line = stdout.lines().find(|line| line.split_whitespace().next() == Some(function));
    let line = line.with_context(|| format!("no line for {function} in:\n{stdout}"))?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

fn a_function_is_listed_with_its_key_and_mechanism() -> anyhow::Result<()> {
    let ran = inject("list should_failslab")?.expect_status(0)?;
    let row = row(&ran.stdout, "should_failslab")?;
    let key = if kernel_is_keyed()? { ["should_failslab_active", "off"] } else { ["-", "-"] };
    ensure!(row[..5] == ["should_failslab", "ERRNO", "-", key[0], key[1]], "{ran:#?}");
    ensure!(row.last().map(String::as_str) == Some("kprobe-multi"), "{ran:#?}");
    ensure!(ran.stderr.is_empty(), "{ran:#?}");
    Ok(())
}

fn a_held_key_reads_as_on() -> anyhow::Result<()> {
    let device = KeyDevice::open()?.context("there is no helper")?;
    let held = device.hold(vec![keyed("should_failslab")?])?;
    let ran = inject("list should_failslab should_fail_alloc_page")?.expect_status(0)?;
    ensure!(row(&ran.stdout, "should_failslab")?[4] == "on", "{ran:#?}");
    ensure!(row(&ran.stdout, "should_fail_alloc_page")?[4] == "off", "{ran:#?}");
    held.release()?;
    Ok(())
}

/// Function and type of every line but the header, sorted.
fn pairs(stdout: &str, skip: usize) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let mut pairs: Vec<_> = stdout.lines().skip(skip).filter_map(pair).collect();
    pairs.sort();
    pairs
}

/// The table without what is in no list of the kernel's.
fn without_hooks(stdout: &str) -> String {
    let lines = stdout.lines().filter(|line| !line.contains("fmod-ret only"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn the_list_is_the_kernels() -> anyhow::Result<()> {
    let ran = inject("list")?.expect_status(0)?;
    let kernel = shell("cat /sys/kernel/debug/error_injection/list")?;
    let listed = pairs(&without_hooks(&ran.stdout), 1);
    ensure!(listed.len() > 300, "{} functions", listed.len());
    ensure!(listed == pairs(&kernel.stdout, 0), "the lists differ");
    Ok(())
}

fn the_image_agrees_with_the_running_kernel() -> anyhow::Result<()> {
    let path = format!("/boot/vmlinux-{}", shell("uname -r")?.stdout.trim());
    let kernel = pairs(&shell("cat /sys/kernel/debug/error_injection/list")?.stdout, 0);
    // The kernel prints one of the names that share an address, and not always the image's first.
    let entries = Image::open(Path::new(&path))?.whitelist()?;
    ensure!(entries.len() == kernel.len(), "{} entries, {}", entries.len(), kernel.len());
    for (name, error_type) in &kernel {
        let entry = entries.iter().find(|entry| entry.names.contains(name));
        let entry = entry.with_context(|| format!("{name} is not in the image"))?;
        ensure!(entry.error_type.to_string() == *error_type, "{name}: {entry:?}");
    }
    let ran = inject(&format!("list --image {path}"))?.expect_status(0)?;
    let lines = pairs(&without_hooks(&ran.stdout), 1).len();
    ensure!(lines == entries.len(), "{lines} lines for {} entries", entries.len());
    if kernel_is_keyed()? {
        let row = row(&ran.stdout, "should_failslab")?;
        ensure!(row[3] == "should_failslab_active" && row[4] == "off", "{row:?}");
        ensure!(row[6] == "guarded", "{row:?}");
    }
    Ok(())
}

fn a_glob_takes_several() -> anyhow::Result<()> {
    let ran = inject("list should_fail*")?.expect_status(0)?;
    let names: Vec<_> = pairs(&ran.stdout, 1).into_iter().map(|(name, _)| name).collect();
    ensure!(names == ["should_fail_alloc_page", "should_fail_bio", "should_failslab"], "{names:?}");
    Ok(())
}

fn every_call_is_guarded_where_there_are_keys() -> anyhow::Result<()> {
    let word = if kernel_is_keyed()? { "guarded" } else { "unguarded" };
    let ran = inject("list should_failslab should_fail_alloc_page")?.expect_status(0)?;
    for function in ["should_failslab", "should_fail_alloc_page"] {
        let row = row(&ran.stdout, function)?;
        ensure!(row[5].parse::<u32>()? > 0 && row[6] == word, "{row:?}");
        // Nothing of the other kind.
        ensure!(row.len() == 8, "{row:?}");
    }
    Ok(())
}

fn options_narrow_the_list() -> anyhow::Result<()> {
    let ran = inject("list --type true")?.expect_status(0)?;
    let types: Vec<_> =
        pairs(&ran.stdout, 1).into_iter().map(|(_, error_type)| error_type).collect();
    ensure!(!types.is_empty() && types.iter().all(|word| word == "TRUE"), "{types:?}");
    let ran = inject("list --keyed")?.expect_status(0)?;
    let names: Vec<_> = pairs(&ran.stdout, 1).into_iter().map(|(name, _)| name).collect();
    ensure!(names.contains(&"should_failslab".to_owned()) == kernel_is_keyed()?, "{names:?}");
    ensure!(names.len() < 20, "{names:?}");
    inject("list --type sometimes")?.expect_one_error(&["sometimes", "ERRNO_NULL"])
}

fn a_system_call_goes_by_its_plain_name() -> anyhow::Result<()> {
    let ran = inject("list sys:mount sys:openat*")?.expect_status(0)?;
    for call in ["sys:mount", "sys:openat", "sys:openat2"] {
        let line = ran.stdout.lines().find(|line| line.split(' ').any(|word| word == call));
        let line = line.with_context(|| format!("no {call} in {ran:#?}"))?;
        ensure!(line.contains("by pointer"), "{line}");
    }
    ensure!(ran.stdout.lines().count() == 4, "{ran:#?}");
    inject("list sys:mkdri")?.expect_one_error(&["'sys:mkdri'", "sys:mkdir"])
}

fn lsm_hooks_take_fmod_ret_only() -> anyhow::Result<()> {
    let ran = inject("list security_*")?.expect_status(0)?;
    let line = ran.stdout.lines().find(|line| line.starts_with("security_file_open "));
    ensure!(line.is_some_and(|line| line.contains("fmod-ret only")), "{ran:#?}");
    // It returns nothing.
    ensure!(!ran.stdout.contains("security_file_free"), "{ran:#?}");
    Ok(())
}

fn json_names_every_caller() -> anyhow::Result<()> {
    let ran = inject("list should_failslab --json")?.expect_status(0)?;
    for part in ["\"schema\": \"inject-list\"", "\"version\": 1", "\"kmem_cache_alloc\""] {
        ensure!(ran.stdout.contains(part), "{part} is missing: {ran:#?}");
    }
    Ok(())
}

/// A copy of the image without its symbol table, as it is inside a vmlinuz.
fn strip(image: &str, to: &str) -> anyhow::Result<()> {
    const SYMBOLS: u32 = 2;
    let mut bytes = std::fs::read(image)?;
    let number = |bytes: &[u8], at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (table, count) = (number(&bytes, 0x28, 8), number(&bytes, 0x3c, 2));
    for header in (0..count).map(|i| table + i * 64) {
        if number(&bytes, header + 4, 4) == SYMBOLS as usize {
            bytes[header + 4..header + 8].fill(0);
        }
    }
    Ok(std::fs::write(to, bytes)?)
}

fn a_stripped_image_borrows_the_running_kernels_symbols() -> anyhow::Result<()> {
    let path = format!("/boot/vmlinux-{}", shell("uname -r")?.stdout.trim());
    let whole = inject("list should_* open_ctree")?.expect_status(0)?;
    strip(&path, "/tmp/stripped")?;
    // Without root nobody tells names.
    let mut command = inject_command("list --image /tmp/stripped");
    let offline: Ran = command.uid(65534).gid(65534).output()?.into();
    let online = inject("list should_failslab --image /tmp/stripped")?.expect_status(0)?;
    ensure!(row(&online.stdout, "should_failslab").is_ok(), "{online:#?}");
    shell(&format!("mount --bind /tmp/stripped {path}"))?.expect_status(0)?;
    let stripped = inject("list should_* open_ctree");
    shell(&format!("umount {path} && rm /tmp/stripped"))?.expect_status(0)?;
    ensure!(stripped?.stdout == whole.stdout, "the lists differ");
    offline.expect_one_error(&["/tmp/stripped has no symbols", "unstripped vmlinux"])
}
