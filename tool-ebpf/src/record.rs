//! Reports of calls that were hit: one by one, and by stack.

use core::sync::atomic::AtomicU64;

use aya_ebpf::{
    bindings::BPF_NOEXIST,
    helpers::{bpf_get_current_comm, bpf_ktime_get_ns},
};
use inject_common::map::{Event, Hit, HitKey};

use crate::{
    atomic::increment,
    call::{Context, process, thread},
    maps::{CONTROL, EVENTS, HITS},
};

/// A call that was made to fail.
#[inline(always)]
pub fn injection(rule: u32, number: u64, context: &impl Context) {
    let stack = context.stack();
    hit(rule, number, stack);
    let Some(mut event) = EVENTS.reserve::<Event>(0) else {
        if let Some(control) = CONTROL.get(0) {
            increment(&control.events_lost);
        }
        return;
    };
    event.write(Event {
        // SAFETY: the helper has no preconditions. Slow where the clock is, but only for calls that fail.
        time: unsafe { bpf_ktime_get_ns() },
        number,
        rule,
        stack,
        process: process(),
        thread: thread(),
        comm: bpf_get_current_comm().unwrap_or_default(),
    });
    event.submit(0);
}

/// Counts a stack.
#[inline(always)]
pub fn hit(rule: u32, number: u64, stack: i32) {
    let key = HitKey { rule, stack };
    if HITS.get_ptr(key).is_none() {
        // Where another CPU is faster, its entry stays, and both count in it.
        let _ = HITS.insert(key, Hit { count: 0, first: number }, u64::from(BPF_NOEXIST));
    }
    if let Some(hit) = HITS.get_ptr_mut(key) {
        // SAFETY: a pointer into the map's memory, which outlives the program; the field is aligned, and everybody adds
        // to it atomically.
        increment(unsafe { AtomicU64::from_ptr(&raw mut (*hit).count) });
    } else if let Some(control) = CONTROL.get(0) {
        increment(&control.stacks_lost);
    }
}
