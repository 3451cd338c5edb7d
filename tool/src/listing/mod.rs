//! What can be made to fail, as `list` shows it: from the running kernel, or from an image.

mod calls;
mod image;
mod json;
mod keep;
mod running;
mod text;

pub use calls::words;
pub use image::of_image;
pub use json::json;
pub use keep::Keep;
pub use running::{FunctionCalls, RunningCalls, calls_of_running, of_running};
pub use text::text;

use crate::{
    image::{Calls, ErrorType},
    plan::Mechanism,
};

/// A list, in the kernel's order.
#[derive(Debug)]
pub struct Listing {
    /// What it is of.
    pub source: Source,
    /// What is in it.
    pub functions: Vec<Function>,
    /// What could not be told, and what to do about it.
    pub notes: Vec<String>,
}

/// What a list is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The kernel that runs; its calls are those of this image.
    Running {
        /// None: there is none, so there are no calls.
        image: Option<String>,
    },
    /// A file.
    Image {
        /// Its path.
        path: String,
    },
}

/// A function that can be made to fail.
#[derive(Clone, Debug)]
pub struct Function {
    /// The kernel's name for it.
    pub name: String,
    /// Other names of the same address, and `sys:NAME`.
    pub aliases: Vec<String>,
    /// Which results are failures.
    pub error_type: ErrorType,
    /// Not in the kernel's list: an LSM hook, or a system call where there is no list.
    pub fmod_ret_only: bool,
    /// None: vmlinux.
    pub module: Option<String>,
    /// Its static key.
    pub key: Key,
    /// None: nobody has looked.
    pub calls: Option<Calls>,
    /// None: an image does not tell.
    pub mechanism: Option<Result<Mechanism, String>>,
}

/// The static key of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Its calls are not guarded.
    None,
    /// Nobody can tell.
    Unknown,
    /// They are.
    Known {
        /// Its symbol, if an image tells.
        name: Option<String>,
        /// References to it; in an image, at boot. None: nobody can tell.
        count: Option<u32>,
        /// How many places in the code it switches, if an image tells.
        sites: Option<usize>,
    },
}

impl Function {
    /// Every name by which it goes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// Whether it is one of the LSM's hooks.
    pub fn is_lsm_hook(&self) -> bool {
        self.fmod_ret_only && self.name.starts_with("security_")
    }
}

/// `sys:NAME` for the function of a system call.
fn syscall_alias(names: &[&str]) -> Option<String> {
    let call = names
        .iter()
        .find_map(|name| name.strip_prefix("__x64_sys_").or(name.strip_prefix("__arm64_sys_")))?;
    Some(format!("sys:{call}"))
}
