//! The helper: references by file, and what it refuses.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use inject::keys::{KeyDevice, KeyedFunction, KeysError};

use crate::{
    cases::cases,
    guest::{
        command::{inject, shell},
        probe::Probe,
        state::{UNKEYED, address, key_count, keyed, within},
    },
};

cases![
    references_add_up_over_files,
    closing_a_file_drops_its_references,
    a_list_is_held_whole_or_not_at_all,
    what_is_not_held_cannot_be_released,
    the_kernel_refuses_what_it_does_not_know,
    calls_arrive_only_while_the_key_is_up,
    inject_leaves_other_holders_alone,
    the_module_stays_while_a_file_is_open,
];

fn device() -> anyhow::Result<KeyDevice> {
    KeyDevice::open()?.context("there is no helper")
}

fn refusal(function: KeyedFunction) -> anyhow::Result<i32> {
    match device()?.hold(vec![function]) {
        Err(KeysError::Refused { source, .. }) => source.raw_os_error().context("no errno"),
        Err(other) => Err(other.into()),
        Ok(_) => anyhow::bail!("it was held"),
    }
}

fn references_add_up_over_files() -> anyhow::Result<()> {
    let slab = keyed("should_failslab")?;
    let one = device()?.hold(vec![slab.clone()])?;
    ensure!(key_count("should_failslab")? == 1);
    let two = device()?.hold(vec![slab.clone(), keyed("should_fail_alloc_page")?, slab])?;
    ensure!(key_count("should_failslab")? == 3);
    ensure!(key_count("should_fail_alloc_page")? == 1);
    one.verify()?;
    ensure!(one.release()? == [2]);
    two.verify()?;
    ensure!(two.release()? == [0, 0, 0]);
    Ok(())
}

fn closing_a_file_drops_its_references() -> anyhow::Result<()> {
    let held = device()?.hold(vec![keyed("should_failslab")?])?;
    ensure!(key_count("should_failslab")? == 1);
    drop(held);
    within(Duration::from_secs(1), || {
        ensure!(key_count("should_failslab")? == 0, "still held");
        Ok(())
    })
}

fn a_list_is_held_whole_or_not_at_all() -> anyhow::Result<()> {
    let unkeyed = keyed(UNKEYED)?;
    let list = vec![keyed("should_failslab")?, unkeyed, keyed("should_fail_alloc_page")?];
    let error = device()?.hold(list).err().context("it was held")?.to_string();
    ensure!(error.contains(UNKEYED), "the culprit is not named: {error}");
    ensure!(key_count("should_failslab")? == 0);
    ensure!(key_count("should_fail_alloc_page")? == 0);
    Ok(())
}

fn what_is_not_held_cannot_be_released() -> anyhow::Result<()> {
    let other = device()?.hold(vec![keyed("should_failslab")?])?;
    let mine = device()?;
    ensure!(mine.release(&[keyed("should_failslab")?]).is_err(), "another file's reference went");
    ensure!(key_count("should_failslab")? == 1);
    other.release()?;
    Ok(())
}

fn the_kernel_refuses_what_it_does_not_know() -> anyhow::Result<()> {
    let slab = keyed("should_failslab")?;
    let at = |address, expected_key| KeyedFunction { address, expected_key, ..slab.clone() };
    let (enoent, enxio, estale) = (2, 6, 116);
    ensure!(refusal(at(0, None))? == enoent);
    ensure!(refusal(at(u64::MAX, None))? == enoent);
    ensure!(refusal(at(slab.address + 1, None))? == enoent, "the middle of a function");
    ensure!(refusal(at(address("vfs_mkdir")?, None))? == enoent, "a function that is not listed");
    ensure!(refusal(keyed(UNKEYED)?)? == enxio, "a function without a key");
    ensure!(refusal(at(slab.address, Some(slab.address)))? == estale, "a key that is another's");
    ensure!(key_count("should_failslab")? == 0);
    Ok(())
}

fn calls_arrive_only_while_the_key_is_up() -> anyhow::Result<()> {
    let probe = Probe::on("should_failslab")?;
    shell("inject-tests workload opens 1000")?;
    ensure!(probe.hits()? == 0, "{} calls with the key down", probe.hits()?);
    let held = device()?.hold(vec![keyed("should_failslab")?])?;
    shell("inject-tests workload opens 1000")?;
    let up = probe.hits()?;
    ensure!(up >= 1000, "{up} calls with the key up");
    held.release()?;
    let released = probe.hits()?;
    shell("inject-tests workload opens 1000")?;
    let down = probe.hits()? - released;
    ensure!(down == 0, "{down} calls with the key down again");
    Ok(())
}

fn inject_leaves_other_holders_alone() -> anyhow::Result<()> {
    let held = device()?.hold(vec![keyed("should_failslab")?])?;
    inject("should_failslab --rate 0% -- inject-tests workload opens 100")?
        .expect_status(0)?
        .expect_stderr("should_failslab_active: on -> on -> on")?;
    ensure!(key_count("should_failslab")? == 1);
    held.release()?;
    Ok(())
}

fn the_module_stays_while_a_file_is_open() -> anyhow::Result<()> {
    let open = device()?;
    let ran = shell("rmmod inject_keys")?;
    ensure!(ran.status != 0, "unloaded under an open file");
    drop(open);
    within(Duration::from_secs(1), || shell("rmmod inject_keys")?.expect_status(0).map(|_| ()))?;
    shell("insmod /lib/modules/$(uname -r)/extra/inject_keys.ko")?.expect_status(0)?;
    Ok(())
}
