//! Who is in scope: the tracepoints that follow tasks, and the maps of tasks, processes and the control group.

use std::{fs::File, path::Path};

use aya::{
    maps::{CgroupArray, HashMap, MapData},
    programs::RawTracePoint,
};
use inject_common::map::{TASK_IN_SCOPE, TASK_WAITS_FOR_EXEC};

use super::{MechanismError, Object};

const TRACEPOINTS: [(&str, &str); 3] = [
    ("task_forked", "sched_process_fork"),
    ("task_executed", "sched_process_exec"),
    ("task_exited", "sched_process_exit"),
];

impl Object {
    /// Follows tasks from here on: what is in `TASKS` hands its place down. The tracepoints stay as long as the object.
    pub fn follow_forks(&mut self) -> Result<(), MechanismError> {
        for (program, tracepoint) in TRACEPOINTS {
            let program: &mut RawTracePoint = self
                .ebpf()
                .program_mut(program)
                .ok_or_else(|| MechanismError::Object(format!("it has no program {program}")))?
                .try_into()?;
            program.load()?;
            program.attach(tracepoint)?;
        }
        Ok(())
    }

    /// Puts a task into scope, from its next exec on. After `follow_forks`, so that no fork goes unseen.
    pub fn follow_from_exec(&mut self, thread: u32) -> Result<(), MechanismError> {
        self.insert("TASKS", thread, TASK_WAITS_FOR_EXEC)
    }

    /// Puts a task into scope at once.
    pub fn follow_now(&mut self, thread: u32) -> Result<(), MechanismError> {
        self.insert("TASKS", thread, TASK_IN_SCOPE)
    }

    /// Puts a process into scope, without its descendants.
    pub fn name_process(&mut self, process: u32) -> Result<(), MechanismError> {
        self.insert("PROCESSES", process, 0)
    }

    /// Keeps rules from hitting a process.
    pub fn exempt(&mut self, process: u32) -> Result<(), MechanismError> {
        self.insert("EXEMPT", process, 0)
    }

    /// Puts a control group into scope, and what is below it.
    pub fn name_cgroup(&mut self, path: &Path) -> Result<(), MechanismError> {
        const NAME: &str = "CGROUP";
        let cgroup = File::open(path)
            .map_err(|source| MechanismError::Cgroup { path: path.to_owned(), source })?;
        let map = self.ebpf().map_mut(NAME).ok_or_else(|| missing(NAME))?;
        let mut array = CgroupArray::try_from(map)
            .map_err(|source| MechanismError::MapCall { name: NAME, source })?;
        array
            .set(0, cgroup, 0)
            .map_err(|source| MechanismError::NotACgroup { path: path.to_owned(), source })
    }

    fn insert(&mut self, name: &'static str, key: u32, value: u32) -> Result<(), MechanismError> {
        let failed = |source| MechanismError::MapCall { name, source };
        let map = self.ebpf().map_mut(name).ok_or_else(|| missing(name))?;
        let mut map: HashMap<&mut MapData, u32, u32> = map.try_into().map_err(failed)?;
        map.insert(key, value, 0).map_err(failed)
    }
}

fn missing(name: &str) -> MechanismError {
    MechanismError::Object(format!("it has no map {name}"))
}
