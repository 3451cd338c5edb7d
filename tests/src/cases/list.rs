//! `inject list`: what can fail, from the running kernel and from its image.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::cases;
use crate::guest::{
    command::{inject, shell},
    state::{kernel_is_keyed, keyed},
};
use inject::{image::Image, keys::KeyDevice};

cases![
    a_function_is_listed_with_its_key_and_mechanism,
    a_held_key_reads_as_on,
    the_list_is_the_kernels,
    the_image_agrees_with_the_running_kernel,
    a_glob_takes_several,
];

fn row(stdout: &str, function: &str) -> anyhow::Result<Vec<String>> {
    let line = stdout.lines().find(|line| line.split_whitespace().next() == Some(function));
    let line = line.with_context(|| format!("no line for {function} in:\n{stdout}"))?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

fn a_function_is_listed_with_its_key_and_mechanism() -> anyhow::Result<()> {
    let ran = inject("list should_failslab")?.expect_status(0)?;
    let expected = if kernel_is_keyed()? {
        ["should_failslab", "ERRNO", "should_failslab_active", "off", "kprobe-multi"]
    } else {
        ["should_failslab", "ERRNO", "-", "-", "kprobe-multi"]
    };
    ensure!(row(&ran.stdout, "should_failslab")? == expected, "{ran:#?}");
    ensure!(ran.stderr.is_empty(), "{ran:#?}");
    Ok(())
}

fn a_held_key_reads_as_on() -> anyhow::Result<()> {
    let device = KeyDevice::open()?.context("there is no helper")?;
    let held = device.hold(vec![keyed("should_failslab")?])?;
    let ran = inject("list should_failslab should_fail_alloc_page")?.expect_status(0)?;
    ensure!(row(&ran.stdout, "should_failslab")?[3] == "on", "{ran:#?}");
    ensure!(row(&ran.stdout, "should_fail_alloc_page")?[3] == "off", "{ran:#?}");
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

fn the_list_is_the_kernels() -> anyhow::Result<()> {
    let ran = inject("list")?.expect_status(0)?;
    let kernel = shell("cat /sys/kernel/debug/error_injection/list")?;
    let listed = pairs(&ran.stdout, 1);
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
    ensure!(pairs(&ran.stdout, 1).len() == entries.len(), "lines are missing");
    if kernel_is_keyed()? {
        let row = row(&ran.stdout, "should_failslab")?;
        ensure!(row[2] == "should_failslab_active" && row[3] == "off", "{row:?}");
        ensure!(row[4].parse::<u32>()? > 0, "a key without a site: {row:?}");
    }
    Ok(())
}

fn a_glob_takes_several() -> anyhow::Result<()> {
    let ran = inject("list should_fail*")?.expect_status(0)?;
    let names: Vec<_> = pairs(&ran.stdout, 1).into_iter().map(|(name, _)| name).collect();
    ensure!(names == ["should_fail_alloc_page", "should_fail_bio", "should_failslab"], "{names:?}");
    Ok(())
}
