//! The eBPF object: its maps made by aya, its program bodies ready to be loaded as kinds that aya does not know.

use std::{
    collections::HashSet,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
};

use aya::{Ebpf, EbpfLoader, maps::Map};
use aya_obj::generated::bpf_insn;

use super::MechanismError;
use crate::sys::{self, ProgramKind};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/inject-ebpf.o"));

/// Whether this build has no eBPF programs in it.
pub fn is_stub() -> bool {
    OBJECT.is_empty()
}

/// What the programs have to know of the running kernel; see tool-ebpf/src/kernel.rs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramConstants {
    /// Address of the per-CPU preempt count; 0: unknown.
    pub preempt_count: u64,
    /// Address of `__per_cpu_offset`; 0: unknown.
    pub per_cpu_offset: u64,
    /// Offset of `pid` in `struct task_struct`.
    pub task_pid: u64,
    /// Offset of `flags` in `struct task_struct`; 0: unknown.
    pub task_flags: u64,
    /// Possible CPUs.
    pub cpus: u32,
}

/// The loaded object. Programs are loaded when they are attached.
pub struct Object {
    ebpf: Ebpf,
    bodies: aya_obj::Object,
}

impl Object {
    /// Makes the maps, with room for the counters of that many rules.
    pub fn load(constants: &ProgramConstants, rules: usize) -> Result<Self, MechanismError> {
        if is_stub() {
            return Err(MechanismError::Stub);
        }
        let counters = u32::try_from(rules)
            .ok()
            .and_then(|rules| rules.checked_mul(constants.cpus))
            .ok_or_else(|| MechanismError::Object("too many rules".to_owned()))?;
        let ebpf = EbpfLoader::new()
            .override_global("PREEMPT_COUNT", &constants.preempt_count, true)
            .override_global("PER_CPU_OFFSET", &constants.per_cpu_offset, true)
            .override_global("TASK_PID", &constants.task_pid, true)
            .override_global("TASK_FLAGS", &constants.task_flags, true)
            .override_global("CPUS", &constants.cpus, true)
            .map_max_entries("COUNTERS", counters)
            .map_max_entries("PROGRESS", rules.max(1) as u32)
            .load(OBJECT)?;
        let bodies = bodies(&ebpf)?;
        Ok(Self { ebpf, bodies })
    }

    /// Loads a body as a program of that kind.
    pub fn load_program(
        &self,
        body: &'static str,
        mechanism: &'static str,
        kind: ProgramKind,
    ) -> Result<OwnedFd, MechanismError> {
        let licence = self.bodies.license.as_c_str();
        sys::load_program(kind, "inject", licence, self.instructions(body)?)
            .map_err(|(source, log)| MechanismError::Program { mechanism, source, log })
    }

    fn instructions(&self, body: &'static str) -> Result<&[bpf_insn], MechanismError> {
        self.bodies
            .programs
            .get(body)
            .and_then(|program| self.bodies.functions.get(&program.function_key()))
            .map(|function| function.instructions.as_slice())
            .ok_or_else(|| MechanismError::Object(format!("it has no program {body}")))
    }

    /// aya's side of it: for the maps, and for programs of kinds that aya knows.
    pub fn ebpf(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }

    /// The same, to read.
    pub(super) fn ebpf_ref(&self) -> &Ebpf {
        &self.ebpf
    }

    /// The descriptor of an array map.
    pub fn array(&self, name: &'static str) -> Result<BorrowedFd<'_>, MechanismError> {
        match self.ebpf.map(name) {
            Some(Map::Array(map)) => Ok(map.fd().as_fd()),
            _ => Err(MechanismError::Object(format!("it has no array {name}"))),
        }
    }
}

/// Parses the object a second time and binds its bodies to the maps that aya made.
fn bodies(ebpf: &Ebpf) -> Result<aya_obj::Object, MechanismError> {
    let damaged = |error: &dyn std::fmt::Display| MechanismError::Object(error.to_string());
    let mut object = aya_obj::Object::parse(OBJECT).map_err(|error| damaged(&error))?;
    let text: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    let maps: Vec<_> = object.maps.iter().map(|(name, map)| (name.clone(), map.clone())).collect();
    let bound: Vec<_> =
        maps.iter()
            .map(|(name, map)| {
                let descriptor = ebpf.map(name).and_then(descriptor).ok_or_else(|| {
                    MechanismError::Object(format!("its map {name} was not made"))
                })?;
                Ok((name.as_str(), descriptor, map))
            })
            .collect::<Result<_, MechanismError>>()?;
    object.relocate_maps(bound.into_iter(), &text).map_err(|error| damaged(&error))?;
    object.relocate_calls(&text).map_err(|error| damaged(&error))?;
    Ok(object)
}

fn descriptor(map: &Map) -> Option<i32> {
    let data = match map {
        Map::Array(data)
        | Map::CgroupArray(data)
        | Map::HashMap(data)
        | Map::LruHashMap(data)
        | Map::RingBuf(data)
        | Map::StackTraceMap(data) => data,
        _ => return None,
    };
    Some(data.fd().as_fd().as_raw_fd())
}
