//! The running kernel: what it says of itself. Reads only.

mod btf;
mod context;
mod error;
mod features;
mod identity;
mod injectable;
mod kernel_log;
mod symbols;
mod traceable;

pub use btf::KernelBtf;
pub use context::{is_initial_pid_namespace, online_image, possible_cpus, require_root};
pub use error::RunningError;
pub use features::{Answer, Features};
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
    /// Reads it all. Needs root, debugfs and CONFIG_FUNCTION_ERROR_INJECTION.
    pub fn read() -> Result<Self, RunningError> {
        let symbols = Symbols::read()?;
        // Before the question of rights: on such a kernel no rights would help.
        if !symbols.contains("within_error_injection_list") {
            return Err(RunningError::NoErrorInjection);
        }
        require_root()?;
        if symbols.are_hidden() {
            return Err(RunningError::HiddenAddresses);
        }
        let injectable = InjectableList::read()?;
        let btf = KernelBtf::read()?;
        let features = Features::probe(&symbols, btf.is_some());
        Ok(Self { traceable: Traceable::read()?, symbols, injectable, features, btf })
    }
}
