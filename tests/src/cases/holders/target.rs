//! Functions in a module, `inject_target`: values of every error type, and a key that can go away with its module.

use std::fs::read_to_string;

use anyhow::{Context as _, ensure};
use inject::keys::KeyDevice;

use crate::{
    cases::cases,
    guest::{
        agent::Agent,
        churn::{IN_MODULE, MODULE},
        command::{Ran, inject, shell},
        counts::Counts,
        legacy::{fail_function, spare_all_functions},
        probe::Probe,
        state::keyed,
    },
};

cases![
    every_error_type_gives_its_value,
    a_modules_key_is_held_and_its_calls_follow,
    a_held_key_pins_its_module,
    fail_function_holds_a_modules_key,
    a_module_that_comes_and_goes_is_held_or_refused,
];

const FILES: &str = "/sys/kernel/debug/inject_target";

/// The loaded module, unloaded when dropped.
struct Target;

impl Target {
    fn load() -> anyhow::Result<Self> {
        shell(&format!("insmod /lib/modules/$(uname -r)/extra/{MODULE}.ko"))?.expect_status(0)?;
        Ok(Self)
    }

    fn unload() -> anyhow::Result<Ran> {
        shell(&format!("rmmod {MODULE}"))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Whoever wants to know whether that works has done it before.
        let _ = Self::unload();
    }
}

fn call(function: &str) -> anyhow::Result<String> {
    Ok(read_to_string(format!("{FILES}/{function}"))?.trim().to_owned())
}

fn every_error_type_gives_its_value() -> anyhow::Result<()> {
    let _target = Target::load()?;
    // File, what it shows without faults, how to fail it, what it shows then.
    let table = [
        ("null", "16", "", "0"),
        ("errno", "0", "--errno EIO", "-5"),
        ("errno_null", "16", "--errno ENOSPC", "-28"),
        ("errno_null", "16", "--return 0", "0"),
        ("true", "0", "", "1"),
        ("keyed", "0", "--errno EDOM", "-33"),
    ];
    for (file, fine, how, failed) in table {
        ensure!(call(file)? == fine, "{file}: {}", call(file)?);
        let line =
            format!("inject_target_{file} {how} --method kprobe-multi -- cat {FILES}/{file}");
        let ran = inject(&line)?.expect_status(0)?;
        ensure!(ran.stdout.trim() == failed, "{file} {how}: {ran:#?}");
        ensure!(ran.number_before("injected")? == 1, "{file} {how}: {ran:#?}");
        ensure!(call(file)? == fine, "{file} afterwards: {}", call(file)?);
    }
    Ok(())
}

fn a_modules_key_is_held_and_its_calls_follow() -> anyhow::Result<()> {
    let _target = Target::load()?;
    let key = Counts::of(&[IN_MODULE])?;
    let probe = Probe::on(IN_MODULE)?;
    key.expect(&[0], "nobody holds")?;
    call("keyed")?;
    ensure!(probe.hits()? == 0, "called with the key down");
    let device = KeyDevice::open()?.context("there is no helper")?;
    let held = device.hold(vec![keyed(IN_MODULE)?, keyed(IN_MODULE)?])?;
    key.expect(&[2], "held twice")?;
    call("keyed")?;
    ensure!(probe.hits()? == 1, "{} calls with the key up", probe.hits()?);
    held.release()?;
    key.expect(&[0], "released")?;
    call("keyed")?;
    ensure!(probe.hits()? == 1, "called with the key down again");
    Ok(())
}

fn a_held_key_pins_its_module() -> anyhow::Result<()> {
    let _target = Target::load()?;
    let mut agent = Agent::start()?;
    agent.hold(IN_MODULE)?;
    let refused = Target::unload()?;
    ensure!(refused.status != 0 && call("keyed").is_ok(), "unloaded under a holder: {refused:#?}");
    agent.kill()?;
    Target::unload()?.expect_status(0).map(drop)
}

fn fail_function_holds_a_modules_key() -> anyhow::Result<()> {
    let _target = Target::load()?;
    let key = Counts::of(&[IN_MODULE])?;
    fail_function(IN_MODULE)?;
    key.expect(&[1], "fail_function")?;
    ensure!(Target::unload()?.status != 0, "unloaded under fail_function");
    spare_all_functions()?;
    key.expect(&[0], "after fail_function")
}

fn a_module_that_comes_and_goes_is_held_or_refused() -> anyhow::Result<()> {
    let (mut held, mut refused) = (0, 0);
    for round in 0..30 {
        let target = Target::load()?;
        let function = keyed(IN_MODULE)?;
        let unloading = std::thread::spawn(Target::unload);
        // Before, while and after it goes.
        for _ in 0..20 {
            let device = KeyDevice::open()?.context("there is no helper")?;
            match device.hold(vec![function.clone()]) {
                Ok(one) => {
                    one.verify()?;
                    held += 1;
                }
                Err(error) => {
                    let error = error.to_string();
                    ensure!(error.contains(IN_MODULE), "round {round}: {error}");
                    refused += 1;
                }
            }
        }
        unloading.join().expect("unloading does not panic")?;
        drop(target);
    }
    ensure!(refused > 0 && held + refused == 600, "{held} held, {refused} refused");
    Ok(())
}
