//! BTF of the running kernel: ids of functions, offsets of fields.

use std::{io::ErrorKind, path::Path};

use btf_rs::{Btf, Type};

use super::RunningError;
use crate::plan::BtfFunction;

const PATH: &str = "/sys/kernel/btf/vmlinux";

/// vmlinux's own; modules have theirs apart.
pub struct KernelBtf {
    btf: Btf,
}

impl std::fmt::Debug for KernelBtf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelBtf").finish_non_exhaustive()
    }
}

impl KernelBtf {
    /// Reads it; None where the kernel has none.
    pub fn read() -> Result<Option<Self>, RunningError> {
        if let Err(error) = Path::new(PATH).metadata()
            && error.kind() == ErrorKind::NotFound
        {
            return Ok(None);
        }
        let btf = Btf::from_file(PATH)
            .map_err(|error| RunningError::Format { path: PATH.into(), what: error.to_string() })?;
        Ok(Some(Self { btf }))
    }

    /// The functions of that name: more than one where files have a static function of the same name.
    pub fn functions(&self, name: &str) -> Vec<BtfFunction> {
        let ids = self.btf.resolve_ids_by_name(name).unwrap_or_default();
        ids.into_iter().filter_map(|id| self.function(id)).collect()
    }

    fn function(&self, id: u32) -> Option<BtfFunction> {
        let Ok(Type::Func(function)) = self.btf.resolve_type_by_id(id) else { return None };
        let returns = match self.btf.resolve_chained_type(&function) {
            Ok(Type::FuncProto(prototype)) => prototype.return_type_id() != 0,
            // A function of unknown type is no worse than one that returns something: the kernel checks as well.
            _ => true,
        };
        Some(BtfFunction { id, returns })
    }

    /// The LSM hooks that return something, by name.
    pub(super) fn lsm_hooks(&self) -> Result<Vec<String>, RunningError> {
        let bytes = std::fs::read(PATH).map_err(RunningError::read(PATH))?;
        crate::image::lsm_hooks(PATH, &bytes)
            .map_err(|error| RunningError::Format { path: PATH.into(), what: error.to_string() })
    }

    /// Offset of a structure's field, in bytes; fields of unnamed members count as the structure's own.
    pub fn field_offset(&self, structure: &str, field: &str) -> Option<u64> {
        let types = self.btf.resolve_types_by_name(structure).ok()?;
        types.iter().find_map(|candidate| self.find_field(candidate, field, 0, 0))
    }

    fn find_field(&self, candidate: &Type, field: &str, bits: u64, depth: u32) -> Option<u64> {
        let (Type::Struct(structure) | Type::Union(structure)) = candidate else { return None };
        if depth > 8 {
            return None;
        }
        structure.members.iter().find_map(|member| {
            let bits = bits + u64::from(member.bit_offset());
            match self.btf.resolve_name(member).unwrap_or_default().as_str() {
                name if name == field => Some(bits / 8),
                "" => {
                    let inner = self.btf.resolve_chained_type(member).ok()?;
                    self.find_field(&inner, field, bits, depth + 1)
                }
                _ => None,
            }
        })
    }
}
