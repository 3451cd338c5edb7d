//! The kernel's clock for user space.

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};

use crate::{atomic::store, kernel, maps::CONTROL};

/// Never attached: the command runs it by BPF_PROG_TEST_RUN to learn the tick count.
#[raw_tracepoint(tracepoint = "none")]
pub fn read_ticks(_ctx: RawTracePointContext) -> i32 {
    if let Some(control) = CONTROL.get(0) {
        store(&control.ticks, kernel::ticks());
    }
    0
}
