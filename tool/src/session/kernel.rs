//! What the programs are told of the running kernel, and whom they leave alone.

use inject_common::map::Guard;

use super::SessionError;
use crate::{
    mechanism::ProgramConstants,
    rule::{GFP_NOFAIL, guard_kind},
    running::{Running, RunningError, possible_cpus},
};

/// Constants for the programs. Tasks can be followed only where BTF tells how they look.
pub(super) fn constants(
    running: &Running,
    follow_tasks: bool,
) -> Result<ProgramConstants, SessionError> {
    let task_pid = if follow_tasks { task_pid(running)? } else { 0 };
    let (preempt_count, per_cpu_offset) = preempt_count(running).unwrap_or_else(|| {
        log::info!("the preempt count is not to be found: interrupts count as the task they hit");
        (0, 0)
    });
    let task_flags = running
        .btf
        .as_ref()
        .and_then(|btf| btf.field_offset("task_struct", "flags"))
        .unwrap_or_else(|| {
            log::info!("task_struct is not known: kernel threads count as processes");
            0
        });
    Ok(ProgramConstants {
        preempt_count,
        per_cpu_offset,
        task_pid,
        task_flags,
        cpus: possible_cpus()?,
    })
}

fn task_pid(running: &Running) -> Result<u64, RunningError> {
    let needs = RunningError::NoBtf { needs: "limiting faults to a command" };
    running.btf.as_ref().ok_or(needs)?.field_offset("task_struct", "pid").ok_or_else(|| {
        RunningError::Format {
            path: "/sys/kernel/btf/vmlinux".into(),
            what: "struct task_struct without pid".to_owned(),
        }
    })
}

/// Where x86 keeps the preempt count: a variable of its own (to 6.1, and again from 6.15), or a field of `pcpu_hot`.
fn preempt_count(running: &Running) -> Option<(u64, u64)> {
    let symbol = |name| running.symbols.named(name).next().map(|symbol| symbol.address);
    let offsets = symbol("__per_cpu_offset").filter(|address| *address != 0)?;
    let variable = symbol("__preempt_count").or_else(|| {
        let field = running.btf.as_ref()?.field_offset("pcpu_hot", "preempt_count")?;
        Some(symbol("pcpu_hot")? + field)
    })?;
    Some((variable, offsets))
}

/// The guard of a function, if it has one and it is wanted.
pub(super) fn guard(running: &Running, function: &str, wanted: bool) -> Guard {
    let Some(kind) = guard_kind(function).filter(|_| wanted) else { return Guard::default() };
    let cache = running.symbols.address("kmem_cache");
    if kind.cache_argument.is_some() && cache.is_none() {
        log::info!("{function}: kmem_cache is not to be found, so the bootstrap cache may fail");
    }
    Guard {
        flags_argument: kind.flags_argument.map_or(0, |index| index + 1),
        refused_flags: GFP_NOFAIL,
        pointer_argument: kind.cache_argument.filter(|_| cache.is_some()).map_or(0, |at| at + 1),
        refused_pointer_at: cache.unwrap_or(0),
    }
}

/// PID 1, this process and its ancestors: whoever takes them down takes down the session, or the machine.
pub(super) fn exempt_processes() -> Result<Vec<u32>, SessionError> {
    let mut processes = vec![1];
    let mut process = std::process::id();
    while process > 1 {
        processes.push(process);
        process = parent(process)?;
    }
    Ok(processes)
}

fn parent(process: u32) -> Result<u32, SessionError> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path)
        .map_err(|source| SessionError::Read { path: path.into(), source })?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    Ok(parent.and_then(|number| number.trim().parse().ok()).unwrap_or(0))
}

/// The threads of a process.
pub(super) fn threads(process: u32) -> Result<Vec<u32>, SessionError> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"))
        .map_err(|_| SessionError::NoProcess { process })?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}
