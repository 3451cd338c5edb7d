//! The shim for kprobe-multi and kprobe: overrides the return value.

use aya_ebpf::{
    EbpfContext as _,
    bindings::pt_regs,
    helpers::generated::{bpf_get_attach_cookie, bpf_override_return},
    macros::kprobe,
    programs::ProbeContext,
};

use crate::call::{Arguments, outcome};

/// The registers that hold arguments, read before anything else.
struct Registers([u64; 6]);

impl Registers {
    #[inline(always)]
    fn read(regs: *const pt_regs) -> Self {
        macro_rules! register {
            ($name:ident) => {
                // SAFETY: the context is the one that the kernel passed in. Volatile, or the compiler puts the loads where
                // they are used and merges them into one with a computed offset, which the verifier refuses.
                unsafe { (&raw const (*regs).$name).read_volatile() }
            };
        }
        Self([
            register!(rdi),
            register!(rsi),
            register!(rdx),
            register!(rcx),
            register!(r8),
            register!(r9),
        ])
    }
}

impl Arguments for Registers {
    #[inline(always)]
    fn get(&self, index: u32) -> u64 {
        self.0.get(index as usize).copied().unwrap_or(0)
    }
}

#[kprobe]
pub fn inject_kprobe(ctx: ProbeContext) -> u32 {
    let arguments = Registers::read(ctx.regs);
    // SAFETY: the context is the one that the kernel passed in.
    let rule = unsafe { bpf_get_attach_cookie(ctx.as_ptr()) };
    if let Some(value) = outcome(rule, &arguments) {
        // SAFETY: as above.
        unsafe { bpf_override_return(ctx.regs, value as u64) };
    }
    0
}
