// On the host this compiles as an ordinary program, so that `cargo check` and clippy read it in any clone.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

use aya_ebpf as _;

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
