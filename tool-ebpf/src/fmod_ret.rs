//! The shim for fmod_ret: what it returns, if not 0, is the function's result.

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::{bpf_get_attach_cookie, bpf_get_func_arg},
    macros::fexit,
    programs::FExitContext,
};

use crate::call::{Arguments, outcome};

impl Arguments for FExitContext {
    #[inline(always)]
    fn get(&self, index: u32) -> u64 {
        let mut value = 0;
        // One program serves functions of any signature, so the count is checked by the helper and not by the verifier.
        // SAFETY: the context is the one that the kernel passed in, and `value` outlives the call.
        if unsafe { bpf_get_func_arg(self.as_ptr(), index, &raw mut value) } == 0 {
            value
        } else {
            0
        }
    }
}

/// Loaded as BPF_MODIFY_RETURN. The value goes back as 64 bits, sign-extended, or a system call would see 4294967284.
#[fexit(function = "any")]
pub fn inject_fmod_ret(ctx: FExitContext) -> i64 {
    // SAFETY: the context is the one that the kernel passed in.
    let rule = unsafe { bpf_get_attach_cookie(ctx.as_ptr()) };
    outcome(rule, &ctx).unwrap_or(0)
}
