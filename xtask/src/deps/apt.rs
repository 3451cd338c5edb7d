//! Debian's packages: which are there, and the installation of those that are not.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Part;
use crate::paths::Paths;
use crate::run::{output, run};

/// The packages for one part. A kernel's source package comes from `vm/kernels.toml`.
pub fn packages(part: Part) -> &'static [&'static str] {
    match part {
        // Whoever runs this has built it: there is a compiler.
        Part::Ebpf | Part::Programs => &[],
        Part::Kernel => &[
            "bc",
            "binutils",
            "bison",
            "ccache",
            "dwarves",
            "flex",
            "gcc",
            "libc6-dev",
            "libelf-dev",
            "make",
            "patch",
            "perl",
            "python3",
            "tar",
            "xz-utils",
            "zstd",
        ],
        Part::Guest => &["btrfs-progs", "busybox-static", "gzip", "qemu-system-x86"],
    }
}

/// Those of `wanted` that are not installed, each once, in order.
pub fn missing(wanted: &[&str]) -> Result<Vec<String>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${Package} ${db:Status-Status}\\n"]).args(wanted);
    // It fails when it does not know one of them; what it prints of the others is right all the same.
    let answer = query
        .output()
        .context("dpkg-query cannot be started: the jobs that install need a Debian machine")?;
    Ok(not_installed(wanted, &String::from_utf8_lossy(&answer.stdout)))
}

fn not_installed(wanted: &[&str], answer: &str) -> Vec<String> {
    let mut seen: HashSet<&str> =
        answer.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    // insert is false for what is installed, and for a second mention.
    wanted
        .iter()
        .filter(|package| seen.insert(package))
        .map(|package| (*package).to_owned())
        .collect()
}

pub fn install(paths: &Paths, packages: &[String]) -> Result<()> {
    let log = paths.fresh_log("apt")?;
    let mut policy = Command::new("apt-cache");
    let policy = output(policy.arg("policy").args(packages).env("LC_ALL", "C"))?;
    let mut updated = false;
    if lacks_candidate(packages, &policy) {
        update(&log)?;
        updated = true;
    }
    let first = install_now(packages, &log);
    if first.is_err() && !updated {
        // Old lists name versions that the mirror no longer has.
        update(&log)?;
        return install_now(packages, &log);
    }
    first
}

fn update(log: &Path) -> Result<()> {
    run("apt-get update", apt_get().arg("update"), log)
}

fn install_now(packages: &[String], log: &Path) -> Result<()> {
    let mut command = apt_get();
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    run("install Debian packages", &mut command, log)
}

fn apt_get() -> Command {
    let mut apt = Command::new("apt-get");
    // Another apt may be at work, unattended upgrades for instance.
    apt.args(["-o", "DPkg::Lock::Timeout=300"]).env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

/// Whether apt's lists know no version of one of `packages`: they are empty or old.
fn lacks_candidate(packages: &[String], policy: &str) -> bool {
    let mut with_candidate = HashSet::new();
    let mut package = "";
    for line in policy.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            package = name;
        } else if let Some(candidate) = line.trim().strip_prefix("Candidate: ")
            && candidate != "(none)"
        {
            with_candidate.insert(package);
        }
    }
    packages.iter().any(|package| !with_candidate.contains(package.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_are_those_that_dpkg_does_not_call_installed() {
        let answer =
            "flex installed\nrsync not-installed\nbison config-files\nlibelf-dev installed\n";
        let wanted = ["flex", "rsync", "bison", "linux-source-6.1", "rsync", "libelf-dev"];
        assert_eq!(not_installed(&wanted, answer), ["rsync", "bison", "linux-source-6.1"]);
    }

    #[test]
    fn a_package_is_missing_from_the_lists_when_it_has_no_candidate() {
        let policy = "flex:\n  Installed: (none)\n  Candidate: 2.6\n  Version table:\n     2.6 500\n\
                      old:\n  Installed: 1\n  Candidate: (none)\n";
        let lacks = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            lacks_candidate(&names, policy)
        };
        assert!(!lacks(&["flex"]));
        assert!(lacks(&["old"]));
        assert!(lacks(&["flex", "unknown"]));
    }
}
