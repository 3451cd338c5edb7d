//! The machine: what every injection needs.

use std::{fs::read_to_string, path::Path};

use super::{
    Answer, Finding, Part,
    config::Config,
    probes::{self, PROBES},
};
use crate::{
    image::{Image, ImageError},
    keys::{KeyDevice, WitnessError, open_running},
    mechanism::is_stub,
    running::{
        KernelBtf, Symbols, Traceable, is_initial_pid_namespace, online_image, require_root,
    },
};

/// What is asked of the machine, gathered once.
#[derive(Debug, Default)]
pub struct Machine {
    /// `6.1.0-13-amd64`.
    pub release: String,
    /// Its first two numbers.
    pub version: Option<(u32, u32)>,
    /// From `/proc/kallsyms`, addresses included; None: hidden.
    pub symbols: Option<Symbols>,
    /// Names alone, where addresses are hidden.
    pub(super) names: Option<Symbols>,
    /// None: the kernel has none.
    pub btf: Option<KernelBtf>,
    pub(super) config: Option<Config>,
}

impl Machine {
    /// Reads what can be read; what cannot be is told by the findings.
    pub fn read() -> Self {
        let release = nix::sys::utsname::uname()
            .ok()
            .and_then(|name| name.release().to_str().map(str::to_owned))
            .unwrap_or_default();
        let symbols = Symbols::read().ok();
        let (symbols, names) = match symbols {
            Some(symbols) if symbols.are_hidden() => (None, Some(symbols)),
            symbols => (symbols, None),
        };
        Self {
            version: version(&release),
            config: Config::read(&release),
            btf: KernelBtf::read().ok().flatten(),
            symbols,
            names,
            release,
        }
    }

    /// Whether the kernel has a function; None: its symbols cannot be read.
    pub(super) fn has(&self, function: &str) -> Option<bool> {
        let symbols = self.symbols.as_ref().or(self.names.as_ref())?;
        Some(symbols.contains(function))
    }

    /// Whether an option is on; None: nobody knows.
    pub(super) fn option(&self, name: &str) -> Option<bool> {
        self.config.as_ref().map(|config| config.value(name).is_some())
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Asks everything.
pub fn machine(machine: &Machine) -> Part {
    let mut findings = vec![
        Finding::needed("kernel", kernel(machine)),
        Finding::needed("inject", own_build()),
        Finding::needed("rights", rights()),
        Finding::useful("configuration", configuration(machine)),
        Finding::needed("symbols", symbols(machine)),
        Finding::useful("error injection", error_injection(machine)),
        Finding::useful("BTF", btf(machine)),
        Finding::needed("debugfs", debugfs(machine)),
        Finding::useful("tracefs", tracefs()),
        Finding::useful("lockdown", lockdown()),
        Finding::needed("PID namespace", pid_namespace()),
    ];
    if require_root().is_ok() {
        findings.extend(mechanisms(machine));
    }
    findings.push(Finding::useful("ftrace", ftrace()));
    findings.push(Finding::useful("key helper", helper(machine)));
    findings.push(Finding::useful("image", image(machine)));
    Part { function: None, findings }
}

fn kernel(machine: &Machine) -> Answer {
    let architecture = std::env::consts::ARCH;
    if architecture != "x86_64" {
        return Answer::no(
            format!("inject runs on x86-64 only, this is {architecture}"),
            "use another machine",
        );
    }
    Answer::yes(format!("Linux {} on {architecture}", machine.release))
}

fn own_build() -> Answer {
    if is_stub() {
        return Answer::no(
            "it was built without its eBPF programs",
            "build the real one with 'cargo xtask install'",
        );
    }
    Answer::yes(format!("{}, with its eBPF programs", env!("CARGO_PKG_VERSION")))
}

fn rights() -> Answer {
    match require_root() {
        Ok(()) => Answer::yes("root"),
        Err(_) => Answer::no("not root, or without CAP_SYS_ADMIN", "run it with sudo"),
    }
}

fn configuration(machine: &Machine) -> Answer {
    const OPTIONS: [&str; 5] = [
        "FUNCTION_ERROR_INJECTION",
        "BPF_KPROBE_OVERRIDE",
        "FPROBE",
        "DEBUG_INFO_BTF",
        "DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
    ];
    let Some(config) = &machine.config else {
        return Answer::unknown("neither /proc/config.gz nor /boot has it; the kernel is asked");
    };
    let off: Vec<&str> =
        OPTIONS.into_iter().filter(|option| config.value(option).is_none()).collect();
    if off.is_empty() {
        Answer::yes(format!("{}: all that inject wants is on", config.path))
    } else {
        Answer::no(
            format!("{}: off are {}", config.path, off.join(", ")),
            "see below what that costs",
        )
    }
}

fn symbols(machine: &Machine) -> Answer {
    match (&machine.symbols, &machine.names) {
        (Some(_), _) => Answer::yes("/proc/kallsyms shows addresses"),
        (None, Some(_)) if require_root().is_err() => {
            Answer::unknown("/proc/kallsyms shows addresses to root only")
        }
        (None, Some(_)) => Answer::no(
            "every address in /proc/kallsyms is zero",
            "run 'sysctl kernel.kptr_restrict=1'",
        ),
        (None, None) => Answer::no(
            "/proc/kallsyms cannot be read",
            "mount /proc, or boot a kernel with CONFIG_KALLSYMS",
        ),
    }
}

fn error_injection(machine: &Machine) -> Answer {
    let built = machine
        .has("within_error_injection_list")
        .or_else(|| machine.option("FUNCTION_ERROR_INJECTION"));
    match built {
        Some(true) => Answer::yes("the kernel has a list of injectable functions"),
        Some(false) => Answer::no(
            "built without CONFIG_FUNCTION_ERROR_INJECTION: at most LSM hooks and system calls \
             can be failed",
            "boot a kernel that has it on (Ubuntu's and openSUSE's have), or build one",
        ),
        None => Answer::unknown("neither symbols nor configuration can be read"),
    }
}

fn btf(machine: &Machine) -> Answer {
    match &machine.btf {
        Some(_) => Answer::yes("/sys/kernel/btf/vmlinux"),
        None if Path::new("/sys/kernel/btf/vmlinux").exists() => {
            Answer::unknown("/sys/kernel/btf/vmlinux cannot be read")
        }
        None => Answer::no(
            "none, so neither fmod-ret nor limiting faults to a command works",
            "boot a kernel with CONFIG_DEBUG_INFO_BTF",
        ),
    }
}

fn debugfs(machine: &Machine) -> Answer {
    if machine.has("within_error_injection_list") == Some(false) {
        return Answer::yes("not needed without a list");
    }
    match read_to_string("/sys/kernel/debug/error_injection/list") {
        Ok(list) => Answer::yes(format!("lists {} functions", list.lines().count())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Answer::no(
            "/sys/kernel/debug/error_injection/list is not there",
            "run 'mount -t debugfs none /sys/kernel/debug'",
        ),
        Err(error) => Answer::unknown(format!("/sys/kernel/debug/error_injection/list: {error}")),
    }
}

fn tracefs() -> Answer {
    match Traceable::read() {
        Ok(traceable) if traceable.contains("").is_some() => {
            Answer::yes("tells which functions can be hooked")
        }
        Ok(_) => Answer::no(
            "not mounted, so what cannot be hooked is found out only by trying",
            "run 'mount -t tracefs none /sys/kernel/tracing'",
        ),
        Err(error) => Answer::unknown(error.to_string()),
    }
}

fn lockdown() -> Answer {
    match read_to_string("/sys/kernel/security/lockdown") {
        Ok(text) => lockdown_of(&text),
        Err(_) => Answer::unknown("/sys/kernel/security/lockdown is not there"),
    }
}

/// The mode in brackets is the one in force.
fn lockdown_of(text: &str) -> Answer {
    let mode = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match mode {
        Some("none") => Answer::yes("none"),
        Some("integrity") => Answer::no(
            "integrity: only signed modules load, so the key helper must be signed",
            "sign inject_keys.ko, or boot with lockdown=none (and without Secure Boot)",
        ),
        Some("confidentiality") => Answer::no(
            "confidentiality: the kernel refuses kprobes and eBPF's reads",
            "boot with lockdown=none (and without Secure Boot)",
        ),
        _ => Answer::unknown(format!("'{}' is no mode that inject knows", text.trim())),
    }
}

fn pid_namespace() -> Answer {
    if is_initial_pid_namespace() {
        Answer::yes("the initial one")
    } else {
        Answer::no(
            "not the initial one, so process ids are not the kernel's",
            "run it on the host, or in a container with --pid=host",
        )
    }
}

/// The probes, and whether any way is left.
fn mechanisms(machine: &Machine) -> Vec<Finding> {
    let listed = machine.has("within_error_injection_list") != Some(false);
    let mut findings: Vec<Finding> = PROBES
        .iter()
        // The one question is asked only where the answer to the others does not settle it.
        .filter(|probe| probe.name != probes::FMOD_RET_SYSCALLS || !listed)
        .map(|probe| Finding::useful(probe.name, probes::ask(probe, machine)))
        .collect();
    let no = |name: &str| findings.iter().any(|f| f.name == name && f.answer.is_no());
    let kprobes = listed && !no(probes::KPROBE_MULTI) && !no(probes::OVERRIDE);
    let fmod_ret = !no(probes::FMOD_RET);
    findings.push(Finding::needed(
        "a mechanism",
        match (kprobes, fmod_ret) {
            (true, true) => Answer::yes("kprobe-multi and fmod-ret"),
            (true, false) => Answer::yes("kprobe-multi"),
            (false, true) => Answer::yes("fmod-ret"),
            (false, false) => Answer::no("none works", "see what the answers above advise"),
        },
    ));
    findings
}

fn ftrace() -> Answer {
    match read_to_string("/proc/sys/kernel/ftrace_enabled") {
        Ok(text) if text.trim() == "0" => Answer::no(
            "switched off: kprobe-multi programs are attached and never run",
            "run 'sysctl kernel.ftrace_enabled=1'",
        ),
        Ok(_) => Answer::yes("on"),
        Err(error) => Answer::unknown(format!("/proc/sys/kernel/ftrace_enabled: {error}")),
    }
}

fn helper(machine: &Machine) -> Answer {
    match machine.has("get_injection_key") {
        Some(false) => return Answer::yes("not needed: this kernel has no keyed hooks"),
        None => return Answer::unknown("this kernel's symbols cannot be read"),
        Some(true) => {}
    }
    match KeyDevice::open() {
        Ok(Some(_)) => Answer::yes("inject_keys is loaded and speaks our version"),
        Ok(None) => Answer::no(
            "inject_keys is not loaded, so functions with a key cannot be failed",
            "run 'modprobe inject_keys' (or insmod inject_keys.ko)",
        ),
        Err(error) if require_root().is_err() => Answer::unknown(error.to_string()),
        Err(error) => Answer::no(error.to_string(), "build and load the module of this inject"),
    }
}

fn image(machine: &Machine) -> Answer {
    let Some(path) = online_image() else {
        return Answer::no(
            "not in /boot, so who calls a function is not known",
            format!("put vmlinux-{0} or vmlinuz-{0} into /boot", machine.release),
        );
    };
    let shown = path.display();
    let Some(symbols) = &machine.symbols else {
        return match Image::open(&path) {
            Ok(_) => Answer::unknown(format!("{shown}: not compared, since addresses are hidden")),
            Err(error) => unreadable(&error),
        };
    };
    match open_running(&path, symbols) {
        Ok(_) => Answer::yes(format!("{shown} is the running kernel's")),
        Err(WitnessError::Image(error)) => unreadable(&error),
        Err(error) => Answer::no(error.to_string(), "put the running kernel's own into /boot"),
    }
}

fn unreadable(error: &ImageError) -> Answer {
    Answer::no(error.to_string(), "put a good copy into /boot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_first_two_numbers() {
        assert_eq!(version("6.1.0-13-amd64"), Some((6, 1)));
        assert_eq!(version("7.3-rc1"), Some((7, 3)));
        assert_eq!(version("next"), None);
    }

    #[test]
    fn lockdown_modes_are_the_words_in_brackets() {
        assert!(lockdown_of("[none] integrity confidentiality\n").is_yes());
        assert!(lockdown_of("none [integrity] confidentiality\n").is_no());
        assert!(matches!(lockdown_of("none integrity\n"), Answer::Unknown(_)));
    }
}
