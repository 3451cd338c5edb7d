//! QEMU's arguments: pure, each odd one with its reason.

use std::path::Path;

use super::accel::Accel;

/// What one run of the guest is made of.
pub struct Machine<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    pub accel: Accel,
    /// Where the kernel's messages go.
    pub console_log: &'a Path,
    /// Where the job's exit status goes.
    pub status: &'a Path,
    /// Where QEMU's own complaints go.
    pub qemu_log: &'a Path,
    pub terminal: Terminal,
    pub kaslr: bool,
    /// More words for the kernel's command line.
    pub append: Vec<&'a str>,
}

/// What QEMU's own standard streams are to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// A terminal for a person: `/dev/hvc0`.
    Shell,
    /// A pipe for what the job prints.
    Output,
}

/// QEMU's arguments, without the program's name.
pub fn args(machine: &Machine<'_>) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
    add("-machine", "q35".into());
    match machine.accel {
        Accel::Kvm => {
            add("-accel", "kvm".into());
            add("-cpu", "host".into());
        }
        Accel::Tcg => {
            add("-accel", "tcg,thread=multi".into());
            add("-cpu", "max".into());
        }
    }
    add("-smp", "2".into());
    add("-m", "1G".into());
    add("-kernel", path(machine.kernel));
    add("-initrd", path(machine.initramfs));
    add("-append", command_line(machine));

    add("-chardev", format!("file,id=console,path={}", path(machine.console_log)));
    add("-serial", "chardev:console".into());
    add("-device", "virtio-serial-pci".into());
    add("-chardev", format!("file,id=status,path={}", path(machine.status)));
    add("-device", "virtserialport,chardev=status,name=inject.status".into());
    match machine.terminal {
        Terminal::Shell => {
            // Ctrl-C belongs to the guest.
            add("-chardev", "stdio,id=terminal,signal=off".into());
            add("-device", "virtconsole,chardev=terminal".into());
        }
        Terminal::Output => {
            // Not "stdio": that one closes the port as soon as standard input ends.
            add("-chardev", "file,id=output,path=/dev/stdout".into());
            add("-device", "virtserialport,chardev=output,name=inject.output".into());
        }
    }
    // Entropy at once, or the first random number waits for jitter.
    add("-device", "virtio-rng-pci".into());
    for flag in ["-nodefaults", "-no-user-config", "-no-reboot"] {
        args.push(flag.to_owned());
    }
    args.extend(["-display".to_owned(), "none".to_owned()]);
    args
}

fn command_line(machine: &Machine<'_>) -> String {
    let mut words = vec![
        "console=ttyS0",
        // The console goes to a file, which the watcher reads: warnings have level 4 and must be in it.
        "loglevel=7",
        // An oops ends the run: a half-dead kernel would only make the rest hang. With -no-reboot a panic ends QEMU.
        "oops=panic",
        "panic=-1",
        // A busy host stops the guest for seconds. These catch what hangs for good.
        "rcupdate.rcu_cpu_stall_timeout=180",
        "tsc=reliable",
        // An emulated timer on a busy host is late, and the kernel would take it for a broken one.
        "no_timer_check",
    ];
    if !machine.kaslr {
        words.push("nokaslr");
    }
    words.extend(&machine.append);
    words.join(" ")
}

fn path(path: &Path) -> String {
    // A comma ends a value in QEMU's options; doubled it stands for itself.
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine<'static> {
        Machine {
            kernel: Path::new("/k/bzImage"),
            initramfs: Path::new("/t/initramfs"),
            accel: Accel::Tcg,
            console_log: Path::new("/t/a,b/console.log"),
            status: Path::new("/t/status"),
            qemu_log: Path::new("/t/qemu.log"),
            terminal: Terminal::Output,
            kaslr: true,
            append: Vec::new(),
        }
    }

    fn joined(machine: &Machine<'_>) -> String {
        args(machine).join(" ")
    }

    #[test]
    fn kvm_passes_the_hosts_cpu_and_tcg_emulates_one() {
        let kvm = joined(&Machine { accel: Accel::Kvm, ..machine() });
        assert!(kvm.contains("-accel kvm -cpu host"), "{kvm}");
        assert!(joined(&machine()).contains("-accel tcg,thread=multi -cpu max"));
    }

    #[test]
    fn kaslr_is_on_unless_told_otherwise() {
        assert!(!joined(&machine()).contains("nokaslr"));
        assert!(joined(&Machine { kaslr: false, ..machine() }).contains(" nokaslr"));
    }

    #[test]
    fn more_words_come_last() {
        let args = args(&Machine { append: vec!["a=1", "b"], ..machine() });
        assert!(args.iter().any(|word| word.ends_with(" a=1 b")), "{args:?}");
    }

    #[test]
    fn a_panic_ends_qemu() {
        let args = joined(&machine());
        assert!(args.contains("panic=-1") && args.contains("-no-reboot"), "{args}");
    }

    #[test]
    fn a_shell_gets_a_console_and_a_job_a_port() {
        let shell = joined(&Machine { terminal: Terminal::Shell, ..machine() });
        assert!(shell.contains("virtconsole") && !shell.contains("inject.output"), "{shell}");
        let job = joined(&machine());
        assert!(job.contains("name=inject.output") && !job.contains("virtconsole"), "{job}");
        assert!(job.contains("name=inject.status") && shell.contains("name=inject.status"));
    }

    #[test]
    fn a_comma_in_a_path_is_doubled() {
        assert!(joined(&machine()).contains("path=/t/a,,b/console.log"));
    }
}
