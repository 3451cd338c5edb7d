//! The kernel's own fault injection on a keyed kernel: it holds what it needs, exactly, and its faults arrive.

use anyhow::{Context as _, ensure};

use crate::{
    cases::cases,
    guest::{
        command::shell,
        counts::Counts,
        legacy::{Attribute, fail_function, spare_all_functions, spare_function},
        probe::Probe,
        state::{KEYED, UNKEYED},
        workload::counts,
    },
};

cases![
    a_probability_holds_once_however_often_it_is_written,
    failslab_fails_allocations,
    fail_page_alloc_holds_its_own_key,
    fail_make_request_fails_a_bio,
    fail_function_holds_from_adding_to_removing,
    a_refused_fail_function_holds_nothing,
];

fn a_probability_holds_once_however_often_it_is_written() -> anyhow::Result<()> {
    let key = Counts::of(&["should_failslab"])?;
    let failslab = Attribute::idle("failslab")?;
    let steps = [(0, 0), (1, 1), (100, 1), (1, 1), (0, 0), (0, 0), (50, 1), (0, 0)];
    for (probability, count) in steps {
        failslab.set("probability", &probability.to_string())?;
        key.expect(&[count], &format!("probability {probability}"))?;
        ensure!(failslab.get("probability")? == probability.to_string());
    }
    // What is not a number changes nothing.
    failslab.set("probability", "1")?;
    ensure!(failslab.set("probability", "often").is_err());
    key.expect(&[1], "after a bad write")
}

fn failslab_fails_allocations() -> anyhow::Result<()> {
    let failslab = Attribute::idle("failslab")?;
    failslab.set("ignore-gfp-wait", "N")?;
    failslab.set("task-filter", "Y")?;
    failslab.set("times", "-1")?;
    failslab.set("probability", "1")?;
    let ran = shell("inject-tests workload opens-failing 1000");
    failslab.set("probability", "0")?;
    failslab.set("task-filter", "N")?;
    failslab.set("ignore-gfp-wait", "Y")?;
    let ran = ran?;
    let (opens, failed) = counts(&ran.stdout).with_context(|| format!("{ran:#?}"))?;
    ensure!(opens == 1000 && failed > 0, "{ran:#?}");
    Ok(())
}

fn fail_page_alloc_holds_its_own_key() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    let pages = Attribute::idle("fail_page_alloc")?;
    pages.set("probability", "100")?;
    keys.expect(&[0, 1, 0], "fail_page_alloc")?;
    let probe = Probe::on("should_fail_alloc_page")?;
    shell("true")?.expect_status(0)?;
    ensure!(probe.hits()? > 0, "no calls");
    pages.set("probability", "0")?;
    keys.expect(&[0, 0, 0], "after fail_page_alloc")
}

const WRITE: &str = "dd if=/dev/zero of=/dev/loop0 bs=4k count=8 conv=fsync";

fn fail_make_request_fails_a_bio() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    shell("dd if=/dev/zero of=/tmp/disk bs=64k count=1 && losetup /dev/loop0 /tmp/disk")?
        .expect_status(0)?;
    let result = (|| {
        let probe = Probe::on("should_fail_bio")?;
        shell(WRITE)?.expect_status(0)?;
        ensure!(probe.hits()? == 0, "calls with the key down");
        shell("echo 1 > /sys/block/loop0/make-it-fail")?.expect_status(0)?;
        let requests = Attribute::idle("fail_make_request")?;
        requests.set("times", "-1")?;
        requests.set("probability", "100")?;
        keys.expect(&[0, 0, 1], "fail_make_request")?;
        let ran = shell(WRITE)?;
        ensure!(ran.status != 0 && ran.stderr.contains("Input/output error"), "{ran:#?}");
        ensure!(probe.hits()? > 0, "no calls");
        requests.set("probability", "0")?;
        keys.expect(&[0, 0, 0], "after fail_make_request")?;
        shell("echo 0 > /sys/block/loop0/make-it-fail")?.expect_status(0)?;
        shell(WRITE)?.expect_status(0).map(drop)
    })();
    shell("losetup -d /dev/loop0; rm /tmp/disk")?.expect_status(0)?;
    result
}

fn fail_function_holds_from_adding_to_removing() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    fail_function("should_failslab")?;
    keys.expect(&[1, 0, 0], "one function")?;
    fail_function("should_fail_bio")?;
    // A function that no key guards.
    fail_function(UNKEYED)?;
    keys.expect(&[1, 0, 1], "three functions")?;
    spare_function("should_failslab")?;
    keys.expect(&[0, 0, 1], "one is gone")?;
    fail_function("should_fail_alloc_page")?;
    spare_all_functions()?;
    keys.expect(&[0, 0, 0], "all are gone")?;

    fail_function("should_failslab")?;
    let attribute = Attribute::idle("fail_function")?;
    attribute.set("task-filter", "Y")?;
    attribute.set("times", "-1")?;
    attribute.set("probability", "10")?;
    shell("echo 0xfffffffffffffff4 > /sys/kernel/debug/fail_function/should_failslab/retval")?
        .expect_status(0)?;
    let ran = shell("inject-tests workload opens-failing 500");
    drop(attribute);
    Attribute("fail_function").set("task-filter", "N")?;
    spare_all_functions()?;
    let ran = ran?;
    let (opens, failed) = counts(&ran.stdout).with_context(|| format!("{ran:#?}"))?;
    ensure!(opens == 500 && failed > 0, "{ran:#?}");
    Ok(())
}

fn a_refused_fail_function_holds_nothing() -> anyhow::Result<()> {
    let keys = Counts::of(&KEYED)?;
    fail_function("should_failslab")?;
    let refusals = [
        ("should_failslab", libc::EBUSY, "it is on it already"),
        ("vfs_mkdir", libc::ERANGE, "it is not injectable"),
        ("no_such_function", libc::EINVAL, "it does not exist"),
        ("!should_fail_bio", libc::ENOENT, "it is not on it"),
    ];
    for (function, errno, why) in refusals {
        let error = fail_function(function).err().with_context(|| format!("{function}: {why}"))?;
        ensure!(error.raw_os_error() == Some(errno), "{function}: {error}, but {why}");
        keys.expect(&[1, 0, 0], why)?;
    }
    spare_all_functions()
}
