//! What the loader tells the programs about the running kernel: read-only data, constant for the verifier.

use aya_ebpf::helpers::{
    bpf_get_smp_processor_id, bpf_probe_read_kernel,
    generated::{bpf_get_current_task, bpf_jiffies64},
};

/// Address of the per-CPU variable that holds the preempt count, before a CPU's offset; 0: unknown.
#[unsafe(no_mangle)]
static PREEMPT_COUNT: u64 = 0;

/// Address of the array `__per_cpu_offset`.
#[unsafe(no_mangle)]
static PER_CPU_OFFSET: u64 = 0;

/// Offset of `pid` in `struct task_struct`, in bytes.
#[unsafe(no_mangle)]
static TASK_PID: u64 = 0;

/// Offset of `flags` in `struct task_struct`, in bytes; 0: unknown.
#[unsafe(no_mangle)]
static TASK_FLAGS: u64 = 0;

/// Possible CPUs: the stride of `COUNTERS`.
#[unsafe(no_mangle)]
static CPUS: u32 = 1;

/// Reads one of the above.
#[inline(always)]
fn constant<T: Copy>(value: &'static T) -> T {
    // SAFETY: a read through a reference. Volatile, since the loader writes another value than the compiler saw.
    unsafe { core::ptr::read_volatile(value) }
}

#[inline(always)]
pub fn cpus() -> u32 {
    constant(&CPUS)
}

#[inline(always)]
pub fn current_cpu() -> u32 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_get_smp_processor_id() }
}

/// The kernel's tick count, `jiffies`.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_jiffies64() }
}

/// The preempt count of this CPU; 0 (task context) where it cannot be read.
#[inline(always)]
pub fn preempt_count() -> u32 {
    let (variable, offsets) = (constant(&PREEMPT_COUNT), constant(&PER_CPU_OFFSET));
    if variable == 0 || offsets == 0 {
        return 0;
    }
    let slot = offsets + u64::from(current_cpu()) * 8;
    // SAFETY: the helper checks the address itself and reports what it cannot read.
    let Ok(offset) = (unsafe { bpf_probe_read_kernel(slot as *const u64) }) else { return 0 };
    // SAFETY: as above.
    unsafe { bpf_probe_read_kernel(variable.wrapping_add(offset) as *const u32) }.unwrap_or(0)
}

/// The thread id of a `struct task_struct`, in the initial PID namespace.
#[inline(always)]
pub fn thread_id(task: u64) -> Option<u32> {
    // SAFETY: the helper checks the address itself and reports what it cannot read.
    unsafe { bpf_probe_read_kernel(task.wrapping_add(constant(&TASK_PID)) as *const u32) }.ok()
}

/// `PF_KTHREAD` of include/linux/sched.h.
const PF_KTHREAD: u32 = 0x0020_0000;

/// Whether the current task is a kernel thread; false where that cannot be read.
#[inline(always)]
pub fn is_kernel_thread() -> bool {
    let offset = constant(&TASK_FLAGS);
    if offset == 0 {
        return false;
    }
    // SAFETY: the helper has no preconditions.
    let task = unsafe { bpf_get_current_task() };
    // SAFETY: the helper checks the address itself and reports what it cannot read.
    let flags = unsafe { bpf_probe_read_kernel(task.wrapping_add(offset) as *const u32) };
    flags.is_ok_and(|flags| flags & PF_KTHREAD != 0)
}
