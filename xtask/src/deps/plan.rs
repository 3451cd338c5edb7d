//! What will be installed and built, with what it costs: pure, so that what a person is asked can be tested.

use std::fmt;

use super::rust::BPF_LINKER_VERSION;

#[derive(Debug, PartialEq)]
pub enum Step {
    Packages(Vec<String>),
    RustSource,
    MuslTarget,
    BpfLinker,
    /// Not installed: the job builds them, and that takes a while the first time.
    Programs,
    /// Likewise.
    Kernel(String),
}

#[derive(Debug)]
pub struct Plan {
    pub steps: Vec<Step>,
}

/// Minutes on 2 cores and GiB of disk.
#[derive(Clone, Copy)]
struct Cost {
    minutes: f64,
    gib: f64,
}

impl Step {
    /// Measured on 2 cores; the kernel's size is that of its build at its largest.
    fn cost(&self) -> Cost {
        let (minutes, gib) = match self {
            Self::Packages(packages) => {
                (1.0, packages.iter().map(|package| package_gib(package)).sum())
            }
            Self::RustSource => (0.2, 0.05),
            Self::MuslTarget => (0.2, 0.15),
            Self::BpfLinker => (1.5, 0.02),
            Self::Programs => (2.5, 1.5),
            Self::Kernel(_) => (9.0, 3.0),
        };
        Cost { minutes, gib }
    }

    fn what(&self) -> String {
        match self {
            Self::Packages(packages) => {
                format!("install the Debian packages {}", packages.join(", "))
            }
            Self::RustSource => "install Rust's component rust-src".into(),
            Self::MuslTarget => format!("install Rust's target {}", crate::guest_programs::TARGET),
            Self::BpfLinker => {
                format!("build bpf-linker {BPF_LINKER_VERSION}, for this project only")
            }
            Self::Programs => "build the eBPF programs, and what loads them".into(),
            Self::Kernel(name) => format!("build the kernel {name}, once; it stays in the cache"),
        }
    }
}

fn package_gib(package: &str) -> f64 {
    match package {
        "qemu-system-x86" => 0.25,
        source if source.starts_with("linux-source-") => 0.14,
        _ => 0.01,
    }
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn packages(&self) -> impl Iterator<Item = &String> {
        let lists = self.steps.iter().filter_map(|step| match step {
            Step::Packages(packages) => Some(packages),
            _ => None,
        });
        lists.flatten()
    }

    /// What somebody without root's rights is told.
    pub fn commands_for_root(&self) -> String {
        let packages: Vec<&str> = self.packages().map(String::as_str).collect();
        format!(
            "Debian packages are missing and only root can install them. As root:\n\
             \x20 apt-get update\n\
             \x20 apt-get install -y --no-install-recommends {}\n\
             Then run this again.",
            packages.join(" ")
        )
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "This machine lacks something. It takes these steps:")?;
        let mut total = Cost { minutes: 0.0, gib: 0.0 };
        for step in &self.steps {
            let cost = step.cost();
            writeln!(f, "  {}", step.what())?;
            total.minutes += cost.minutes;
            total.gib += cost.gib;
        }
        let minutes = total.minutes.ceil();
        writeln!(f, "That is about {minutes:.0} min on 2 cores and {:.1} GiB.", total.gib.max(0.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let packages = vec!["flex".to_owned(), "linux-source-6.1".to_owned()];
        Plan {
            steps: vec![
                Step::Packages(packages),
                Step::RustSource,
                Step::Kernel("6.1-keyed".into()),
            ],
        }
    }

    #[test]
    fn the_question_names_every_step_and_the_sum() {
        let text = plan().to_string();
        for part in ["flex, linux-source-6.1", "rust-src", "6.1-keyed", "about 11 min", "3.2 GiB"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn without_root_the_exact_command_is_printed() {
        let text = plan().commands_for_root();
        let command = "\n  apt-get install -y --no-install-recommends flex linux-source-6.1\n";
        assert!(text.contains(command), "{text}");
    }
}
