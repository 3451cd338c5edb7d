//! The unsafe edge: one thin, safe function for each thing that only the kernel's raw interface offers.

mod bpf;
mod fork;
mod keys_ioctl;
mod memory;
mod process;
mod quiesce;

pub use bpf::{
    Attach, LinkInfo, ProgramKind, create_link, empty_program, failing_program, kernel_program,
    link_info, load_program, modify_return_program, program_misses,
};
pub use fork::{Forked, fork};
pub use keys_ioctl::{KeysRequest, keys_count, keys_list, keys_release_all, keys_version};
pub use memory::{SharedArray, map_file};
pub use process::pidfd;
pub use quiesce::wait_for_running_programs;
