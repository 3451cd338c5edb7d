//! The shim for fmod_ret: what it returns, if not 0, is the function's result.

use core::ffi::c_void;

use aya_ebpf::{
    helpers::generated::{bpf_get_attach_cookie, bpf_get_func_arg},
    programs::{FExitContext, tracing::StackIdContext as _},
};

use crate::{
    call::{Context, outcome},
    maps::STACKS,
};

struct Trampoline(*mut c_void);

impl Context for Trampoline {
    #[inline(always)]
    fn argument(&self, index: u32) -> u64 {
        let mut value = 0;
        // One program serves functions of any signature, so the count is checked by the helper and not by the verifier.
        // SAFETY: the context is the one that the kernel passed in, and `value` outlives the call.
        if unsafe { bpf_get_func_arg(self.0, index, &raw mut value) } == 0 { value } else { 0 }
    }

    #[inline(always)]
    fn stack(&self) -> i32 {
        FExitContext::new(self.0).get_stackid(&STACKS, 0).map_or_else(|error| error, |id| id as i32)
    }
}

/// Loaded as BPF_MODIFY_RETURN. The value goes back as 64 bits, sign-extended, or a system call would see 4294967284.
///
/// Spelt out, since aya's macro for this section returns 0 whatever the body says.
#[unsafe(no_mangle)]
#[unsafe(link_section = "fexit/any")]
pub extern "C" fn inject_fmod_ret(ctx: *mut c_void) -> i64 {
    // SAFETY: the context is the one that the kernel passed in.
    let function = unsafe { bpf_get_attach_cookie(ctx) };
    outcome(function, &Trampoline(ctx)).unwrap_or(0)
}
