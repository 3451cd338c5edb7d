//! The jobs of the project, one module each. `cargo xtask --help` lists them.

mod bench_image;
mod cargo;
mod counts;
mod demo;
mod deps;
mod ebpf;
mod fuzz;
mod guest_programs;
mod install;
mod kernel;
mod kmod;
mod lint;
mod paths;
mod progress;
mod run;
mod test;
mod vm;
mod vm_test;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use counts::Counts;
use deps::Part;
use kernel::Kernel;
use kernel::list::{DEFAULT, Spec};
use paths::Paths;
use vm::Guest;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "The jobs of the project. Each installs and builds what it needs."
)]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Watch a real kernel's slab allocator fail on purpose, in a VM
    Demo,
    /// Run all tests: unit tests, then the VM's; ends in "N passed, N failed"
    Test,
    /// Open a shell in the VM
    Vm(KernelArg),
    /// Run the tests that need a kernel, in the VM
    VmTest {
        /// One of vm/kernels.toml, or "all"
        #[arg(long, value_name = "NAME", default_value = DEFAULT)]
        kernel: String,
        /// Only tests with this in their path
        #[arg(value_name = "FILTER", num_args = 0..=1)]
        filters: Vec<String>,
        /// Boot without address randomisation
        #[arg(long)]
        nokaslr: bool,
        /// Words for the kernel's command line
        #[arg(long, value_name = "WORDS")]
        append: Option<String>,
    },
    /// Build the static `inject` for this machine and install it; no kernel is built
    Install {
        /// The program goes to DIR/bin
        #[arg(long, value_name = "DIR", default_value = "/usr/local")]
        prefix: PathBuf,
    },
    /// Build a kernel, or find it in the cache; prints its folder
    Kernel(KernelArg),
    /// Build the kernel modules; prints where they are
    Kmod(KernelArg),
    /// Build the eBPF object; prints where it is
    Ebpf,
    /// Time `inject list --image` beside nm, readelf and bpftool on the same file
    BenchImage {
        /// A vmlinux; big ones say most
        image: PathBuf,
    },
    /// Feed hostile images to what reads them; needs a nightly compiler and cargo-fuzz
    Fuzz {
        /// For how long, for each of the targets
        #[arg(long, default_value_t = 120)]
        seconds: u32,
    },
    /// Check the formatting and run clippy with warnings denied
    Lint,
    /// Do what CI does
    Ci,
}

#[derive(Args)]
struct KernelArg {
    /// One of vm/kernels.toml
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    kernel: String,
}

fn main() -> ExitCode {
    match run(Cli::parse().job) {
        Ok(code) => code,
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(job: Job) -> Result<ExitCode> {
    let paths = &Paths::find()?;
    match job {
        Job::Demo => demo::run(paths)?,
        Job::Test => return Ok(report(test::run(paths)?)),
        Job::Vm(KernelArg { kernel }) => Guest::prepare(paths, &kernel)?.shell()?,
        Job::VmTest { kernel, filters, nokaslr, append } => {
            let append: Vec<String> = append
                .iter()
                .flat_map(|words| words.split_whitespace())
                .map(str::to_owned)
                .collect();
            let selection =
                vm_test::Selection { filters: &filters, kaslr: !nokaslr, append: &append };
            return Ok(report(vm_test::run(paths, &kernel, &selection)?));
        }
        Job::Install { prefix } => install::run(paths, &prefix)?,
        Job::Kernel(KernelArg { kernel }) => {
            println!("{}", get_kernel(paths, &kernel)?.dir().display())
        }
        Job::Kmod(KernelArg { kernel }) => {
            for module in kmod::build(paths, &get_kernel(paths, &kernel)?)? {
                println!("{}", module.display());
            }
        }
        Job::Ebpf => {
            let tools = deps::ensure(paths, &[Part::Ebpf], None)?;
            println!("{}", ebpf::build(paths, &tools.bpf_linker)?.display());
        }
        Job::BenchImage { image } => bench_image::run(paths, &image)?,
        Job::Fuzz { seconds } => fuzz::run(paths, seconds)?,
        Job::Lint => lint::run(paths)?,
        Job::Ci => lint::ci(paths)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn get_kernel(paths: &Paths, name: &str) -> Result<Kernel> {
    let spec = Spec::find(paths, name)?;
    deps::ensure(paths, &[Part::Kernel], Some(&spec))?;
    Kernel::get(paths, spec)
}

/// The last line of a test job, and its verdict.
fn report(counts: Counts) -> ExitCode {
    println!("{counts}");
    if counts.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
