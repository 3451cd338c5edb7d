//! Which tasks are in scope: follows forks, execs and exits from the one task that the command put into `TASKS`.
//!
//! Raw tracepoints, because a perf tracepoint's program is skipped while another BPF program runs on the CPU, and a fork
//! missed that way would let a whole tree of processes escape.

use aya_ebpf::{bindings::BPF_NOEXIST, macros::raw_tracepoint, programs::RawTracePointContext};
use aya_log_ebpf::warn;
use inject_common::map::TASK_IN_SCOPE;

use crate::{
    atomic::increment,
    kernel::thread_id,
    maps::{CONTROL, TASKS},
};

/// Arguments: parent, child. Runs before the child does.
#[raw_tracepoint(tracepoint = "sched_process_fork")]
pub fn task_forked(ctx: RawTracePointContext) -> i32 {
    let (parent, child) = (thread_id(ctx.arg::<u64>(0)), thread_id(ctx.arg::<u64>(1)));
    let (Some(parent), Some(child)) = (parent, child) else { return 0 };
    // SAFETY: the value is a plain integer; a racing write gives the old or the new one.
    let Some(state) = (unsafe { TASKS.get(parent) }) else { return 0 };
    let state = *state;
    if TASKS.insert(child, state, 0).is_err() {
        if let Some(control) = CONTROL.get(0) {
            increment(&control.tasks_lost);
        }
        warn!(&ctx, "thread {} forked {}, which could not be followed", parent, child);
    }
    0
}

/// Arguments: task, its thread id before the exec, the binary.
///
/// The task is past the point of no return: what it does from here on is the program's own doing.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
pub fn task_executed(ctx: RawTracePointContext) -> i32 {
    let Some(thread) = thread_id(ctx.arg::<u64>(0)) else { return 0 };
    let before = ctx.arg::<u32>(1);
    // SAFETY: the value is not looked at.
    if unsafe { TASKS.get(before) }.is_none() {
        return 0;
    }
    // A thread that was not the leader takes over the leader's id.
    if before != thread {
        let _ = TASKS.remove(before);
        let _ = TASKS.insert(thread, TASK_IN_SCOPE, u64::from(BPF_NOEXIST));
    }
    if let Some(state) = TASKS.get_ptr_mut(thread) {
        // SAFETY: a pointer into the map's memory, which outlives the program.
        unsafe { *state = TASK_IN_SCOPE };
    }
    0
}

/// Arguments: task.
#[raw_tracepoint(tracepoint = "sched_process_exit")]
pub fn task_exited(ctx: RawTracePointContext) -> i32 {
    if let Some(thread) = thread_id(ctx.arg::<u64>(0)) {
        let _ = TASKS.remove(thread);
    }
    0
}
