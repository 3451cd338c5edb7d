//! The eBPF programs of `inject`: entry shims for each mechanism around one decision, and the tracking of tasks.
//!
//! Sections are named so that aya-obj parses them; the loader chooses the real program type (`tool/src/mechanism/`).
// On the host this compiles as an ordinary program, so that `cargo check` and clippy read it in any clone.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]
#![cfg_attr(
    target_arch = "bpf",
    feature(core_intrinsics),
    expect(internal_features, reason = "see atomic.rs")
)]

mod atomic;
mod call;
mod fmod_ret;
mod kernel;
mod kprobe;
mod maps;
mod record;
mod scope;
mod ticks;

/// The kernel offers the helpers used here to programs with a GPL-compatible licence only.
#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
