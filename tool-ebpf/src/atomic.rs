//! Atomic loads and additions.
//!
//! The standard library's do not compile for this target: it has no addition, because the target cannot do every atomic
//! operation, and its load is one that the code generator does not know. An aligned 64-bit access is atomic on every
//! machine that runs eBPF programs.

use core::sync::atomic::AtomicU64;

/// Reads what another CPU, or the command, may be writing.
#[inline(always)]
pub fn load(word: &AtomicU64) -> u64 {
    // SAFETY: the pointer comes from a reference; volatile, so that the load is neither split nor repeated.
    unsafe { word.as_ptr().read_volatile() }
}

/// Writes what the command reads.
#[inline(always)]
pub fn store(word: &AtomicU64, value: u64) {
    // SAFETY: as above.
    unsafe { word.as_ptr().write_volatile(value) };
}

/// Adds one and returns what was there before. Minimum kernel: 5.12.
#[cfg(target_arch = "bpf")]
#[inline(always)]
pub fn fetch_increment(counter: &AtomicU64) -> u64 {
    use core::intrinsics::{AtomicOrdering, atomic_xadd};
    // SAFETY: the pointer comes from a reference to an atomic.
    unsafe { atomic_xadd::<u64, u64, { AtomicOrdering::SeqCst }>(counter.as_ptr(), 1) }
}

/// Adds one and returns what was there before.
#[cfg(not(target_arch = "bpf"))]
pub fn fetch_increment(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, core::sync::atomic::Ordering::SeqCst)
}

/// Adds one. The old value is not returned, so every kernel's `xadd` instruction will do.
#[cfg(target_arch = "bpf")]
#[inline(always)]
pub fn increment(counter: &AtomicU64) {
    use core::intrinsics::{AtomicOrdering, atomic_xadd};
    // SAFETY: the pointer comes from a reference to an atomic.
    unsafe { atomic_xadd::<u64, u64, { AtomicOrdering::Relaxed }>(counter.as_ptr(), 1) };
}

/// Adds one.
#[cfg(not(target_arch = "bpf"))]
pub fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
}
