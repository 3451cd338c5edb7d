//! What a job needs and this machine lacks: found out, shown, asked about once, installed.

mod apt;
mod plan;
mod rust;

use std::io::{Write as _, stderr, stdin};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::guest_programs;
use crate::kernel::Kernel;
use crate::kernel::list::Spec;
use crate::paths::Paths;
use crate::progress::interactive;
use crate::run::output;
use plan::{Plan, Step};

/// A part of the machinery that a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Building the eBPF object.
    Ebpf,
    /// Building the static programs.
    Programs,
    /// Building a kernel, or modules against one.
    Kernel,
    /// Booting the guest.
    Guest,
}

/// What the jobs call that is not on the PATH.
pub struct Tools {
    pub bpf_linker: PathBuf,
}

/// Makes sure that the machine has all that `parts` need; `kernel` is the one to build if it is not cached.
pub fn ensure(paths: &Paths, parts: &[Part], kernel: Option<&Spec>) -> Result<Tools> {
    let plan = make_plan(paths, parts, kernel)?;
    let tools = Tools { bpf_linker: rust::bpf_linker(paths) };
    if plan.is_empty() {
        return Ok(tools);
    }
    if plan.packages().next().is_some() && output(Command::new("id").arg("-u"))? != "0" {
        bail!("{}", plan.commands_for_root());
    }
    if interactive() {
        eprint!("{plan}");
        if !confirmed()? {
            bail!("stopped; nothing was changed");
        }
    }
    for step in &plan.steps {
        match step {
            Step::Packages(packages) => apt::install(paths, packages)?,
            Step::RustSource => rust::add_source(paths)?,
            Step::MuslTarget => rust::add_musl_target(paths)?,
            Step::BpfLinker => rust::install_bpf_linker(paths)?,
            // Not installations: the job itself does them. They are in the plan for their time and size.
            Step::Programs | Step::Kernel(_) => {}
        }
    }
    Ok(tools)
}

fn make_plan(paths: &Paths, parts: &[Part], kernel: Option<&Spec>) -> Result<Plan> {
    let mut steps = Vec::new();
    let mut packages: Vec<&str> =
        parts.iter().flat_map(|part| apt::packages(*part)).copied().collect();
    if let Some(spec) = kernel {
        packages.push(&spec.source);
        packages.extend(spec.packages.iter().map(String::as_str));
    }
    let missing = apt::missing(&packages)?;
    if !missing.is_empty() {
        steps.push(Step::Packages(missing));
    }
    let sysroot = rust::sysroot(paths)?;
    if parts.contains(&Part::Ebpf) {
        if !rust::has_source(&sysroot) {
            steps.push(Step::RustSource);
        }
        if !rust::bpf_linker(paths).is_file() {
            steps.push(Step::BpfLinker);
        }
    }
    if parts.contains(&Part::Programs) && !rust::has_musl_target(&sysroot) {
        steps.push(Step::MuslTarget);
    }
    if parts.contains(&Part::Programs) && !steps.is_empty() && !guest_programs::are_built(paths) {
        steps.push(Step::Programs);
    }
    if let Some(spec) = kernel
        && !Kernel::is_cached(paths, spec)
    {
        steps.push(Step::Kernel(spec.name.clone()));
    }
    Ok(Plan { steps })
}

fn confirmed() -> Result<bool> {
    eprint!("Go on? [Y/n] ");
    stderr().flush()?;
    let mut answer = String::new();
    // End of file is no answer, and no answer is not a yes.
    let read = stdin().read_line(&mut answer)?;
    Ok(read > 0 && is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_means_yes_and_anything_unclear_means_no() {
        assert!(["\n", "y\n", "Yes\n", " Y \n"].iter().all(|answer| is_yes(answer)));
        assert!(["n\n", "no\n", "what?\n"].iter().all(|answer| !is_yes(answer)));
    }
}
