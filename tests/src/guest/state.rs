//! What the kernel shows from outside: who is attached, which key is up.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use inject::{
    keys::{KeyDevice, KeyedFunction},
    running::Symbols,
};

use super::counts::Counts;

/// Functions with keys on keyed kernels.
pub const KEYED: [&str; 3] = ["should_failslab", "should_fail_alloc_page", "should_fail_bio"];

/// An injectable function that does real work, so that no key guards it.
pub const UNKEYED: &str = "open_ctree";

/// Whether the kernel was booted with an option.
pub fn booted_with(option: &str) -> anyhow::Result<bool> {
    let command_line = std::fs::read_to_string("/proc/cmdline")?;
    Ok(command_line.split_whitespace().any(|word| word == option))
}

/// Whether the guest's kernel has our patches.
pub fn kernel_is_keyed() -> anyhow::Result<bool> {
    Ok(Symbols::read()?.contains("injection_key_hold"))
}

/// Where a function is at run time, in modules as well.
pub fn address(function: &str) -> anyhow::Result<u64> {
    address_among(&Symbols::read()?, function)
}

/// The same, among symbols that were read already.
pub fn address_among(symbols: &Symbols, function: &str) -> anyhow::Result<u64> {
    let symbol = symbols.named(function).find(|symbol| symbol.address != 0);
    symbol.map(|symbol| symbol.address).with_context(|| format!("{function} is nowhere"))
}

/// The helper's view of a function.
pub fn keyed(function: &str) -> anyhow::Result<KeyedFunction> {
    Ok(KeyedFunction { name: function.to_owned(), address: address(function)?, expected_key: None })
}

/// References to the key of a function.
pub fn key_count(function: &str) -> anyhow::Result<u32> {
    let device = KeyDevice::open()?.context("there is no helper")?;
    let count = device.count(&keyed(function)?, "")?;
    Ok(count.with_context(|| format!("{function} has no key"))?.count)
}

/// The lines of `enabled_functions`: what ftrace has hooked, for whomever.
pub fn hooked() -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string("/sys/kernel/tracing/enabled_functions")?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Ids of all eBPF links.
pub fn links() -> Vec<u32> {
    aya::programs::loaded_links().filter_map(Result::ok).map(|link| link.id()).collect()
}

/// Names of all eBPF programs.
pub fn programs() -> Vec<String> {
    let name = |info: aya::programs::ProgramInfo| info.name_as_str().unwrap_or("?").to_owned();
    aya::programs::loaded_programs().filter_map(Result::ok).map(name).collect()
}

/// The kernel's own injector, from boot on, with a budget of zero: it holds, and fails nothing.
pub const BOOT_OPTION: &str = "failslab=1,1,0,0";

/// Fails if anything is attached, or any key's count is not what it was at boot.
pub fn expect_clean() -> anyhow::Result<()> {
    let hooked = hooked()?;
    ensure!(hooked.is_empty(), "functions are hooked: {hooked:?}");
    let probes = std::fs::read_to_string("/sys/kernel/debug/kprobes/list")?;
    ensure!(probes.is_empty(), "there are kprobes: {probes}");
    let links = links();
    ensure!(links.is_empty(), "there are eBPF links: {links:?}");
    let programs = programs();
    ensure!(programs.is_empty(), "there are eBPF programs: {programs:?}");
    if kernel_is_keyed()? {
        // What the boot option holds, it held before any test.
        let at_boot = [u32::from(booted_with(BOOT_OPTION)?), 0, 0];
        Counts::of(&KEYED)?.expect(&at_boot, "nobody holds a key")?;
    }
    Ok(())
}

/// The same, within a second: the kernel frees programs and links after the fact.
pub fn expect_clean_soon() -> anyhow::Result<()> {
    within(Duration::from_secs(1), expect_clean)
}

/// Tries until it works, or fails with the last error when the time is over.
pub fn within(time: Duration, mut check: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let end = Instant::now() + time;
    loop {
        match check() {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() >= end => {
                return Err(error.context(format!("still so after {time:?}")));
            }
            Err(_) => sleep(Duration::from_millis(20)),
        }
    }
}

/// Waits until a session is armed: its function is hooked, and on a keyed kernel its key is up.
///
/// A system call may go by its plain name, since ftrace shows one of several that share the address.
pub fn wait_for_session(function: &str) -> anyhow::Result<()> {
    let keyed = kernel_is_keyed()? && KEYED.contains(&function);
    within(Duration::from_secs(20), || {
        let is_hooked = |line: &String| {
            line.split_whitespace()
                .next()
                .is_some_and(|name| name == function || name.ends_with(&format!("_sys_{function}")))
        };
        if !hooked()?.iter().any(is_hooked) {
            bail!("{function} is not hooked, but {:?}", hooked()?);
        }
        ensure!(!keyed || key_count(function)? > 0, "the key of {function} is off");
        Ok(())
    })?;
    // Verifying and arming come after that.
    sleep(Duration::from_millis(300));
    Ok(())
}
