//! Who is in scope: the tracepoints that follow tasks, and the maps of tasks and processes.

use aya::{
    maps::{HashMap, MapData},
    programs::RawTracePoint,
};
use inject_common::map::TASK_WAITS_FOR_EXEC;

use super::{MechanismError, Object};

const TRACEPOINTS: [(&str, &str); 3] = [
    ("task_forked", "sched_process_fork"),
    ("task_executed", "sched_process_exec"),
    ("task_exited", "sched_process_exit"),
];

impl Object {
    /// Follows a task from its next exec on, with all its descendants. The tracepoints stay as long as the object.
    pub fn follow_task(&mut self, thread: u32) -> Result<(), MechanismError> {
        for (program, tracepoint) in TRACEPOINTS {
            let program: &mut RawTracePoint = self
                .ebpf()
                .program_mut(program)
                .ok_or_else(|| MechanismError::Object(format!("it has no program {program}")))?
                .try_into()?;
            program.load()?;
            program.attach(tracepoint)?;
        }
        // After the tracepoints, so that no fork goes unseen.
        self.hash_map("TASKS")?
            .insert(thread, TASK_WAITS_FOR_EXEC, 0)
            .map_err(|source| MechanismError::MapCall { name: "TASKS", source })
    }

    /// Keeps rules without a scope from hitting these processes.
    pub fn exempt(&mut self, processes: &[u32]) -> Result<(), MechanismError> {
        let mut exempt = self.hash_map("EXEMPT")?;
        for process in processes {
            exempt
                .insert(process, 0, 0)
                .map_err(|source| MechanismError::MapCall { name: "EXEMPT", source })?;
        }
        Ok(())
    }

    fn hash_map(
        &mut self,
        name: &'static str,
    ) -> Result<HashMap<&mut MapData, u32, u32>, MechanismError> {
        self.ebpf()
            .map_mut(name)
            .ok_or_else(|| MechanismError::Object(format!("it has no map {name}")))?
            .try_into()
            .map_err(|source| MechanismError::MapCall { name, source })
    }
}
