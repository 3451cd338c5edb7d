//! What is asked of BTF: one structure's members, and the functions of a kind.
//!
//! Walks over the type section that keep nothing: building an index of all types, as BTF libraries do, costs more
//! time and memory than everything else that is asked of an image. Format: `include/uapi/linux/btf.h` and
//! `Documentation/bpf/btf.rst`.

use std::{collections::HashSet, ops::Range};

use super::{ImageError, elf::File};

/// `struct btf_header`: magic, version, flags, hdr_len, type_off, type_len, str_off, str_len.
const HEADER_SIZE: usize = 24;
const MAGIC: u32 = 0xeb9f;
/// `struct btf_type`, before what its kind adds.
const TYPE_SIZE: usize = 12;
const MEMBER_SIZE: usize = 12;
const KIND_STRUCT: u32 = 4;
const KIND_FUNCTION: u32 = 12;
const KIND_PROTOTYPE: u32 = 13;
/// Names are read up to here: as long as any in C source, short enough that a hostile table costs nothing.
const MAX_NAME: usize = 128;

/// A structure as BTF describes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Struct {
    /// In bytes.
    pub(super) size: u64,
    /// Name and offset in bytes of each member, in order.
    pub(super) members: Vec<(String, u64)>,
}

/// The one structure called `name`; None if the image has no BTF, or its BTF no such structure.
///
/// Two that differ are an error: nobody could say which one a table is made of.
pub(super) fn find_struct(file: &File, name: &str) -> Result<Option<Struct>, ImageError> {
    let Some(section) = file.sections().iter().find(|s| s.name == ".BTF") else {
        return Ok(None);
    };
    let btf = Btf { name: &file.name, bytes: file.section_bytes(section) };
    btf.find_struct(name)
}

/// The kernel's LSM hooks that return something: what `check_attach_modify_return()` in `kernel/bpf/verifier.c` accepts
/// by its name, less what has no result to change. By name.
///
/// `btf` is BTF by itself, as in `/sys/kernel/btf/vmlinux`; `name` stands for it in errors.
pub fn lsm_hooks(name: &str, btf: &[u8]) -> Result<Vec<String>, ImageError> {
    Btf { name, bytes: btf }.returning_functions("security_")
}

/// The same from an image; None if it has no BTF.
pub(super) fn lsm_hooks_of(file: &File) -> Result<Option<Vec<String>>, ImageError> {
    let section = file.sections().iter().find(|s| s.name == ".BTF");
    section.map(|section| lsm_hooks(&file.name, file.section_bytes(section))).transpose()
}

struct Btf<'f> {
    name: &'f str,
    bytes: &'f [u8],
}

/// Where the parts of the section are.
struct Parts {
    types: Range<usize>,
    strings: Range<usize>,
}

/// One type in passing.
struct Passed {
    /// Where it stands.
    at: usize,
    id: u32,
    kind: u32,
    count: usize,
    flag: bool,
}

impl Btf<'_> {
    fn parts(&self) -> Result<Parts, ImageError> {
        if self.word(0)? & 0xffff != MAGIC {
            return Err(self.malformed(0, "it has no BTF magic"));
        }
        let header = self.word(4)? as usize;
        if header < HEADER_SIZE {
            return Err(self.malformed(4, "its header is too short"));
        }
        Ok(Parts { types: self.part(header, 8)?, strings: self.part(header, 16)? })
    }

    /// Passes every type, in order.
    fn walk(
        &self,
        parts: &Parts,
        mut on: impl FnMut(Passed) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let mut at = parts.types.start;
        // 0 is void, which is not in the table.
        let mut id = 1;
        while at < parts.types.end {
            let info = self.word(at + 4)?;
            let kind = (info >> 24) & 0x1f;
            let count = info as usize & 0xffff;
            let next = at
                + TYPE_SIZE
                + extra_size(kind, count)
                    .ok_or_else(|| self.malformed(at, format!("type kind {kind} is unknown")))?;
            if next > parts.types.end {
                return Err(self.malformed(at, "a type passes the end of the types"));
            }
            on(Passed { at, id, kind, count, flag: info >> 31 == 1 })?;
            (at, id) = (next, id + 1);
        }
        Ok(())
    }

    fn returning_functions(&self, prefix: &str) -> Result<Vec<String>, ImageError> {
        let parts = self.parts()?;
        let mut functions = Vec::new();
        let mut returning = HashSet::new();
        self.walk(&parts, |Passed { at, id, kind, .. }| {
            if kind == KIND_FUNCTION
                && self.string(&parts.strings, at)?.starts_with(prefix.as_bytes())
            {
                functions.push((at, self.word(at + 8)?));
            } else if kind == KIND_PROTOTYPE && self.word(at + 8)? != 0 {
                returning.insert(id);
            }
            Ok(())
        })?;
        let mut names = functions
            .into_iter()
            .filter(|(_, prototype)| returning.contains(prototype))
            .map(|(at, _)| {
                Ok(String::from_utf8_lossy(self.string(&parts.strings, at)?).into_owned())
            })
            .collect::<Result<Vec<_>, ImageError>>()?;
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn find_struct(&self, name: &str) -> Result<Option<Struct>, ImageError> {
        let parts = self.parts()?;
        let mut found = None;
        self.walk(&parts, |Passed { at, kind, count, flag, .. }| {
            if kind == KIND_STRUCT && self.string(&parts.strings, at)? == name.as_bytes() {
                let this = self.read_struct(&parts.strings, at, count, flag)?;
                if found.as_ref().is_some_and(|found| *found != this) {
                    return Err(self.malformed(at, format!("struct {name} is there twice")));
                }
                found = Some(this);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn read_struct(
        &self,
        strings: &Range<usize>,
        at: usize,
        count: usize,
        bitfields: bool,
    ) -> Result<Struct, ImageError> {
        let members = (0..count).map(|i| {
            let at = at + TYPE_SIZE + i * MEMBER_SIZE;
            let bits = self.word(at + 8)?;
            // With bit-fields in the structure, the upper byte is a member's width in bits.
            let (width, bits) = if bitfields { (bits >> 24, bits & 0xff_ffff) } else { (0, bits) };
            if width != 0 || bits % 8 != 0 {
                return Err(self.malformed(at, "a whitelist entry has a bit-field"));
            }
            let name = String::from_utf8_lossy(self.string(strings, at)?).into_owned();
            Ok((name, u64::from(bits / 8)))
        });
        Ok(Struct { members: members.collect::<Result<_, _>>()?, size: self.word(at + 8)?.into() })
    }

    /// The part whose offset (from the header's end) and length the header has at `field`, as a range of the section.
    fn part(&self, header: usize, field: usize) -> Result<Range<usize>, ImageError> {
        // Three numbers of 32 bits do not overflow 64.
        let start = header + self.word(field)? as usize;
        let end = start + self.word(field + 4)? as usize;
        if end > self.bytes.len() {
            return Err(self.malformed(field, "a part of it passes the section's end"));
        }
        Ok(start..end)
    }

    /// The string whose offset stands at `at`, without its 0 and without what passes [`MAX_NAME`].
    fn string(&self, strings: &Range<usize>, at: usize) -> Result<&[u8], ImageError> {
        let offset = self.word(at)? as usize;
        let rest = self.bytes[strings.clone()]
            .get(offset..)
            .ok_or_else(|| self.malformed(at, "a name lies outside the strings"))?;
        let rest = &rest[..rest.len().min(MAX_NAME)];
        let end = rest.iter().position(|&byte| byte == 0);
        Ok(&rest[..end.unwrap_or(rest.len())])
    }

    fn word(&self, at: usize) -> Result<u32, ImageError> {
        self.bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk())
            .map(|&bytes| u32::from_le_bytes(bytes))
            .ok_or_else(|| self.malformed(at, "it ends too early"))
    }

    fn malformed(&self, at: usize, problem: impl Into<String>) -> ImageError {
        ImageError::Malformed {
            name: self.name.to_owned(),
            section: ".BTF".to_owned(),
            offset: at as u64,
            problem: problem.into(),
        }
    }
}

/// What follows a `struct btf_type` of this kind with `count` parts (`btf_type_size()` in `kernel/bpf/btf.c`).
fn extra_size(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Ptr, fwd, typedef, volatile, const, restrict, func, float, type tag.
        2 | 7..=12 | 16 | 18 => 0,
        // Int, var, decl tag.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Struct, union, data section, 64-bit enum.
        4 | 5 | 15 | 19 => count * 12,
        // Enum, function prototype.
        6 | 13 => count * 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{
        bytes::Bytes,
        testing::{Kernel, btf},
    };
    use super::*;

    fn find(btf: Vec<u8>, name: &str) -> Result<Option<Struct>, ImageError> {
        let mut kernel = Kernel::new();
        kernel.data(".BTF", 0x1000, btf);
        let bytes = kernel.build();
        let file = File::parse("vmlinux".into(), Bytes::Borrowed(&bytes))?;
        find_struct(&file, name)
    }

    fn point() -> Vec<u8> {
        btf("point", 16, &[("x", 0), ("y", 64)])
    }

    #[test]
    fn a_structure_is_found_behind_other_types() {
        let expected = Struct { size: 16, members: vec![("x".into(), 0), ("y".into(), 8)] };
        assert_eq!(find(point(), "point").unwrap(), Some(expected));
        assert_eq!(find(point(), "poin").unwrap(), None);
        // A name, but an enum's.
        assert_eq!(find(point(), "kinds").unwrap(), None);
    }

    #[test]
    fn truncated_at_any_byte_it_is_an_error() {
        let whole = point();
        for length in 0..whole.len() {
            let error = find(whole[..length].to_vec(), "point").unwrap_err();
            assert!(error.to_string().contains(".BTF, offset"), "{length}: {error}");
        }
    }

    #[test]
    fn a_changed_byte_is_no_panic() {
        let whole = point();
        for at in 0..whole.len() {
            for change in [0xff, 0x80, 0x01] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let _ = find(bytes, "point");
            }
        }
    }

    #[test]
    fn an_unknown_kind_of_type_is_an_error_since_its_length_is_unknown() {
        let mut bytes = point();
        // The first type's kind.
        bytes[24 + 7] = 31;
        let error = find(bytes, "point").unwrap_err().to_string();
        assert!(error.contains("kind 31"), "{error}");
    }

    #[test]
    fn lsm_hooks_are_those_that_return_something() {
        let hooks = lsm_hooks("btf", &point()).unwrap();
        assert_eq!(hooks, ["security_file_open"]);
    }

    #[test]
    fn bit_fields_are_refused() {
        let error = find(btf("point", 16, &[("x", 3)]), "point").unwrap_err();
        assert!(error.to_string().contains("bit-field"), "{error}");
    }
}
