//! The running kernel: what it says of itself. Reads only.

mod btf;
mod context;
mod error;
mod features;
mod fmod_ret_only;
mod identity;
mod injectable;
mod kernel_log;
mod symbols;
mod traceable;

pub use btf::KernelBtf;
pub use context::{is_initial_pid_namespace, online_image, possible_cpus, require_root};
pub use error::RunningError;
pub use features::{Answer, Features};
pub use fmod_ret_only::SYSCALL_PREFIX;
pub use identity::Identity;
pub use injectable::{Injectable, InjectableList};
pub use kernel_log::{KernelLog, KernelWarning};
pub use symbols::{Symbol, Symbols};
pub use traceable::Traceable;

/// Everything that is known of the running kernel before anything is done.
#[derive(Debug)]
pub struct Running {
    /// From `/proc/kallsyms`.
    pub symbols: Symbols,
    /// The error injection list.
    pub injectable: InjectableList,
    /// Which functions ftrace can hook.
    pub traceable: Traceable,
    /// What mechanisms can work.
    pub features: Features,
    /// Absent without CONFIG_DEBUG_INFO_BTF.
    pub btf: Option<KernelBtf>,
}

impl Running {
    /// Reads it all. Needs root; debugfs and CONFIG_FUNCTION_ERROR_INJECTION, or BTF and trampolines.
    pub fn read() -> Result<Self, RunningError> {
        let symbols = Symbols::read()?;
        require_root()?;
        if symbols.are_hidden() {
            return Err(RunningError::HiddenAddresses);
        }
        let mut injectable = if symbols.contains("within_error_injection_list") {
            InjectableList::read()?
        } else {
            InjectableList::absent()
        };
        let btf = KernelBtf::read()?;
        let features = Features::probe(&symbols, btf.is_some());
        let traceable = Traceable::read()?;
        if let Some(btf) = btf.as_ref().filter(|_| features.fmod_ret.is_yes()) {
            fmod_ret_only::add(&mut injectable, btf, &symbols, &traceable)?;
        }
        if injectable.iter().next().is_none() {
            return Err(RunningError::NoErrorInjection);
        }
        Ok(Self { traceable, symbols, injectable, features, btf })
    }
}
