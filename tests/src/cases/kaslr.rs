//! Addresses and keys are right wherever the kernel lies; run with KASLR and without.

use std::path::Path;

use anyhow::{Context as _, ensure};
use inject::{
    image::Image,
    keys::{KeyDevice, KeyedFunction, KeysError, Witness},
    running::Symbols,
};

use super::cases;
use crate::guest::{
    command::{inject, shell},
    state::keyed,
};

cases![the_image_moves_with_the_kernel, the_kernel_and_its_image_name_the_same_key, faults_arrive];

fn image_path() -> anyhow::Result<String> {
    Ok(format!("/boot/vmlinux-{}", shell("uname -r")?.stdout.trim()))
}

fn the_image_moves_with_the_kernel() -> anyhow::Result<()> {
    let image = Image::open(Path::new(&image_path()?))?;
    let symbols = Symbols::read()?;
    let running = symbols.address("_stext").context("_stext")?;
    let linked = image.symbol("_stext").context("_stext in the image")?;
    let slide = running - linked;
    let command_line = std::fs::read_to_string("/proc/cmdline")?;
    let fixed = command_line.split_whitespace().any(|word| word == "nokaslr");
    // KASLR may choose the place where the kernel was linked, but never does by QEMU's default memory.
    ensure!(fixed == (slide == 0), "slide {slide:#x}, command line {command_line}");
    for entry in image.whitelist()? {
        let found = symbols.iter().any(|symbol| {
            symbol.address == entry.address + slide
                && entry.names.iter().any(|name| name == symbol.name)
        });
        ensure!(found, "{:?} is not at {:#x}", entry.names, entry.address + slide);
    }
    Ok(())
}

fn the_kernel_and_its_image_name_the_same_key() -> anyhow::Result<()> {
    let witness = Witness::open(Path::new(&image_path()?), &Symbols::read()?)?;
    for name in ["should_failslab", "should_fail_alloc_page"] {
        let function = keyed(name)?;
        let key = witness.key(function.address).context("the image knows no key")?;
        ensure!(key.name == format!("{name}_active"), "{key:?}");
        let with = |key| KeyedFunction { expected_key: Some(key), ..function.clone() };
        let device = KeyDevice::open()?.context("there is no helper")?;
        let count = device.count(&with(key.address), "image")?;
        ensure!(count.is_some(), "the kernel knows no key");
        let wrong = device.count(&with(key.address + 16), "image");
        ensure!(matches!(wrong, Err(KeysError::Disagreement { .. })), "{wrong:?}");
    }
    Ok(())
}

fn faults_arrive() -> anyhow::Result<()> {
    let ran = inject("should_failslab --rate 10% --when 300+ -- inject-tests workload opens 1500")?
        .expect_status(0)?;
    ensure!(ran.number_before("injected")? > 0, "{ran:#?}");
    ran.expect_stderr("should_failslab_active: off -> on -> off")?;
    Ok(())
}
