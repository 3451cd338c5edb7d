//! The shim for kprobe-multi and kprobe: overrides the return value.

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::{bpf_get_attach_cookie, bpf_override_return},
    macros::kprobe,
    programs::ProbeContext,
};

use crate::call::{Arguments, outcome};

impl Arguments for ProbeContext {
    #[inline(always)]
    fn get(&self, index: u32) -> u64 {
        self.arg(index as usize).unwrap_or(0)
    }
}

#[kprobe]
pub fn inject_kprobe(ctx: ProbeContext) -> u32 {
    // SAFETY: the context is the one that the kernel passed in.
    let rule = unsafe { bpf_get_attach_cookie(ctx.as_ptr()) };
    if let Some(value) = outcome(rule, &ctx) {
        // SAFETY: as above.
        unsafe { bpf_override_return(ctx.regs, value as u64) };
    }
    0
}
