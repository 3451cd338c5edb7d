//! The shim for kprobe-multi and kprobe: overrides the return value.

use aya_ebpf::{
    EbpfContext as _,
    bindings::pt_regs,
    helpers::generated::{bpf_get_attach_cookie, bpf_override_return},
    macros::kprobe,
    programs::{ProbeContext, tracing::StackIdContext as _},
};

use crate::{
    call::{Context, outcome},
    maps::STACKS,
};

struct Probe {
    context: ProbeContext,
    /// The registers that hold arguments, read before anything else.
    registers: [u64; 6],
}

impl Probe {
    #[inline(always)]
    fn new(context: ProbeContext) -> Self {
        let regs: *const pt_regs = context.regs;
        macro_rules! register {
            ($name:ident) => {
                // SAFETY: the context is the one that the kernel passed in. Volatile, or the compiler puts the loads where
                // they are used and merges them into one with a computed offset, which the verifier refuses.
                unsafe { (&raw const (*regs).$name).read_volatile() }
            };
        }
        let registers = [
            register!(rdi),
            register!(rsi),
            register!(rdx),
            register!(rcx),
            register!(r8),
            register!(r9),
        ];
        Self { context, registers }
    }
}

impl Context for Probe {
    #[inline(always)]
    fn argument(&self, index: u32) -> u64 {
        self.registers.get(index as usize).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn stack(&self) -> i32 {
        self.context.get_stackid(&STACKS, 0).map_or_else(|error| error, |id| id as i32)
    }
}

#[kprobe]
pub fn inject_kprobe(ctx: ProbeContext) -> u32 {
    // SAFETY: the context is the one that the kernel passed in.
    let function = unsafe { bpf_get_attach_cookie(ctx.as_ptr()) };
    let regs = ctx.regs;
    if let Some(value) = outcome(function, &Probe::new(ctx)) {
        // SAFETY: as above.
        unsafe { bpf_override_return(regs, value as u64) };
    }
    0
}
