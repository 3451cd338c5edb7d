//! Every failure that a user can cause: one line, what to do, status 125. That nothing is left behind is checked after
//! every test anyway.

use std::os::unix::process::CommandExt as _;

use anyhow::ensure;

use super::cases;
use crate::guest::command::{inject, inject_command, shell};

cases![
    an_unknown_function_gets_the_nearest_names,
    a_misspelt_verb_gets_the_verb,
    a_function_that_is_not_injectable,
    a_rate_that_is_none,
    a_value_that_does_not_fit_the_error_type,
    a_missing_default,
    no_consent_to_break_the_system,
    not_root,
    no_btf,
    no_debugfs,
    hidden_addresses,
    ftrace_off,
    no_helper_on_a_keyed_kernel,
    no_witness_at_all,
    the_image_of_another_kernel,
    a_truncated_image,
    a_wrong_option,
    one_bad_function_among_good_ones,
];

const COMMAND: &str = "-- touch /tmp/must-not-run";

/// The command must not have run either.
fn refused(arguments: &str, parts: &[&str]) -> anyhow::Result<()> {
    inject(arguments)?.expect_one_error(parts)?;
    ensure!(!std::path::Path::new("/tmp/must-not-run").exists(), "the command ran");
    Ok(())
}

/// Undoes a change of the guest when dropped.
struct Undo(&'static str);

impl Undo {
    fn after(change: &str, undo: &'static str) -> anyhow::Result<Self> {
        shell(change)?.expect_status(0)?;
        Ok(Self(undo))
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // If it does not work, the next tests fail loudly.
        let _ = shell(self.0);
    }
}

fn image() -> anyhow::Result<String> {
    Ok(format!("/boot/vmlinux-{}", shell("uname -r")?.stdout.trim()))
}

fn an_unknown_function_gets_the_nearest_names() -> anyhow::Result<()> {
    refused(
        &format!("should_failslap --rate 1% {COMMAND}"),
        &["unknown function 'should_failslap'", "did you mean", "should_failslab"],
    )?;
    inject("list should_failslap")?.expect_one_error(&["should_failslap", "should_failslab"])
}

fn a_misspelt_verb_gets_the_verb() -> anyhow::Result<()> {
    refused("lsit", &["'lsit'", "the verb list"])
}

fn a_function_that_is_not_injectable() -> anyhow::Result<()> {
    refused(
        &format!("vfs_mkdir --errno EIO {COMMAND}"),
        &["vfs_mkdir exists, but is not injectable", "sys:mkdir", "inject list"],
    )
}

fn a_rate_that_is_none() -> anyhow::Result<()> {
    let with =
        |rate: &str, parts| refused(&format!("should_failslab --rate {rate} {COMMAND}"), parts);
    with("101%", &["101%", "0 % to 100 %"])?;
    with("-1%", &["-1%", "0 % to 100 %"])?;
    with("1", &["two ways", "1%", "100%"])?;
    with("often", &["'often' is not a rate", "1/100"])
}

fn a_value_that_does_not_fit_the_error_type() -> anyhow::Result<()> {
    refused(
        &format!("should_fail_alloc_page --errno EIO {COMMAND}"),
        &["should_fail_alloc_page cannot return EIO", "TRUE"],
    )?;
    refused(
        &format!("should_failslab --return 0 {COMMAND}"),
        &["should_failslab cannot return 0", "ERRNO", "--errno"],
    )?;
    refused(&format!("should_failslab --errno EFOO {COMMAND}"), &["'EFOO'", "ENOMEM"])
}

fn a_missing_default() -> anyhow::Result<()> {
    refused(&format!("{NO_DEFAULT} {COMMAND}"), &[NO_DEFAULT, "which error", "--errno"])
}

/// An injectable function that is neither an allocation nor a system call, nor of a file system.
const NO_DEFAULT: &str = "io_ctl_init";

fn no_consent_to_break_the_system() -> anyhow::Result<()> {
    refused("should_failslab", &["100 %", "--allow-system-wide"])
}

fn not_root() -> anyhow::Result<()> {
    for arguments in [format!("should_failslab --rate 1% {COMMAND}"), "list".to_owned()] {
        let mut command = inject_command(&arguments);
        command.uid(65534).gid(65534);
        let ran: crate::guest::command::Ran = command.output()?.into();
        ran.expect_one_error(&["needs root", "sudo"])?;
    }
    ensure!(!std::path::Path::new("/tmp/must-not-run").exists(), "the command ran");
    Ok(())
}

fn no_btf() -> anyhow::Result<()> {
    let _undo = Undo::after(
        "mkdir -p /tmp/empty && mount --bind /tmp/empty /sys/kernel/btf",
        "umount /sys/kernel/btf",
    )?;
    refused(
        &format!("should_failslab --rate 1% --method fmod-ret {COMMAND}"),
        &["no mechanism works", "no BTF (CONFIG_DEBUG_INFO_BTF)"],
    )?;
    refused(
        &format!("should_failslab --rate 1% {COMMAND}"),
        &["no BTF", "limiting faults to a command"],
    )
}

fn no_debugfs() -> anyhow::Result<()> {
    let _undo =
        Undo::after("umount -l /sys/kernel/debug", "mount -t debugfs debugfs /sys/kernel/debug")?;
    refused(
        &format!("should_failslab --rate 1% {COMMAND}"),
        &["debugfs is not mounted", "mount -t debugfs none /sys/kernel/debug"],
    )
}

fn hidden_addresses() -> anyhow::Result<()> {
    let _undo = Undo::after(
        "echo 2 > /proc/sys/kernel/kptr_restrict",
        "echo 0 > /proc/sys/kernel/kptr_restrict",
    )?;
    refused(
        &format!("should_failslab --rate 1% {COMMAND}"),
        &["/proc/kallsyms is zero", "sysctl kernel.kptr_restrict=1"],
    )
}

fn ftrace_off() -> anyhow::Result<()> {
    let _undo = Undo::after(
        "echo 0 > /proc/sys/kernel/ftrace_enabled",
        "echo 1 > /proc/sys/kernel/ftrace_enabled",
    )?;
    refused(
        &format!("should_failslab --rate 1% --method kprobe-multi {COMMAND}"),
        &["ftrace is switched off", "sysctl kernel.ftrace_enabled=1"],
    )
}

const LOAD_HELPER: &str = "insmod /lib/modules/$(uname -r)/extra/inject_keys.ko";

fn no_helper_on_a_keyed_kernel() -> anyhow::Result<()> {
    let _undo = Undo::after("rmmod inject_keys", LOAD_HELPER)?;
    refused(
        &format!("should_failslab --rate 1% {COMMAND}"),
        &["should_failslab_active", "modprobe inject_keys"],
    )?;
    // A function whose calls no key guards needs no helper; the image tells.
    let ran = inject("sys:sethostname --errno EPERM -- hostname x")?;
    ensure!(ran.number_before("injected")? == 1, "{ran:#?}");
    Ok(())
}

fn no_witness_at_all() -> anyhow::Result<()> {
    let _undo = Undo::after(
        "rmmod inject_keys && mount -t tmpfs none /boot",
        "umount /boot; insmod /lib/modules/$(uname -r)/extra/inject_keys.ko",
    )?;
    refused(
        &format!("should_failslab --rate 1% {COMMAND}"),
        &["neither the helper module nor an image", "modprobe inject_keys", "--image"],
    )
}

/// A copy of the image with one bit of the build id turned.
fn other_image() -> anyhow::Result<&'static str> {
    let path = "/tmp/other-vmlinux";
    let mut bytes = std::fs::read(image()?)?;
    let build_id = inject::running::Identity::read()?.build_id.expect("the VM's kernels have one");
    let places: Vec<usize> = (0..bytes.len() - build_id.len())
        .filter(|at| bytes[*at..].starts_with(&build_id))
        .collect();
    ensure!(!places.is_empty(), "the image does not contain its build id");
    for place in places {
        bytes[place] ^= 1;
    }
    std::fs::write(path, bytes)?;
    Ok(path)
}

fn the_image_of_another_kernel() -> anyhow::Result<()> {
    let other = other_image()?;
    let result = refused(
        &format!("should_failslab --rate 1% --image {other} {COMMAND}"),
        &["the image of another kernel", "build ids", "--image"],
    );
    std::fs::remove_file(other)?;
    result
}

fn a_truncated_image() -> anyhow::Result<()> {
    let path = "/tmp/truncated-vmlinux";
    let bytes = std::fs::read(image()?)?;
    std::fs::write(path, &bytes[..bytes.len() / 2])?;
    let result = inject(&format!("list --image {path}"))?
        .expect_one_error(&[path, "truncated", "copy it again"])
        .and_then(|()| {
            refused(
                &format!("should_failslab --rate 1% --image {path} {COMMAND}"),
                &[path, "truncated"],
            )
        });
    std::fs::remove_file(path)?;
    result
}

fn a_wrong_option() -> anyhow::Result<()> {
    refused(&format!("should_failslab --rat 1% {COMMAND}"), &["--rat", "inject --help"])?;
    refused("", &["FUNCTION", "inject --help"])
}

fn one_bad_function_among_good_ones() -> anyhow::Result<()> {
    let ran = inject(&format!("should_failslab nothing_such {NO_DEFAULT} --rate 1% {COMMAND}"))?
        .expect_status(125)?;
    // All reasons together, a line each.
    ensure!(ran.stderr.lines().count() == 2, "{ran:#?}");
    ran.expect_stderr("nothing_such")?.expect_stderr("io_ctl_init: which error")?;
    ensure!(!std::path::Path::new("/tmp/must-not-run").exists(), "the command ran");
    Ok(())
}
