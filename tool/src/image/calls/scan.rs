//! Finding the places that have an address of interest.

use std::collections::HashMap;

use iced_x86::FlowControl;

use super::{Wanted, code};
use crate::image::{Image, section::Section};

/// A place that has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The instruction, or the pointer.
    pub(super) address: u64,
    pub(super) target: u64,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    /// Conditional ones too.
    Jump,
    Pointer,
}

/// All of them, those in the code before those in the data.
pub(super) fn scan(image: &Image<'_>, wanted: &HashMap<u64, Vec<Wanted>>) -> Vec<Found> {
    let filter = Filter::new(wanted);
    let mut found = Vec::new();
    for section in image.file.sections().iter().filter(|section| is_code(section)) {
        let candidates = filter.candidates(section, image.file.section_bytes(section));
        confirm(image, section, &candidates, &mut found);
    }
    for section in image.file.sections().iter().filter(|section| is_data(section)) {
        filter.pointers(section, image.file.section_bytes(section), &mut found);
    }
    found
}

/// Replacements of alternatives are code for another place: what is relative in them is not relative to where they lie.
fn is_code(section: &Section) -> bool {
    section.executable && !section.name.starts_with(".altinstr_replacement")
}

/// Data that lives on after boot. Sections that list functions for tools' sake call none.
fn is_data(section: &Section) -> bool {
    const LISTS: [&str; 5] =
        [".init", "_error_injection", "__mcount_loc", "_kprobe_blacklist", "__patchable"];
    section.loaded
        && !section.executable
        && !section.zeroed
        && !section.note
        && !LISTS.iter().any(|list| section.name.starts_with(list))
}

/// Addresses of interest, with a quick test that most others fail.
struct Filter<'w> {
    wanted: &'w HashMap<u64, Vec<Wanted>>,
    /// A bit for each value of some bits of an address: those that differ between functions.
    bits: Vec<u64>,
}

impl<'w> Filter<'w> {
    fn new(wanted: &'w HashMap<u64, Vec<Wanted>>) -> Self {
        let mut bits = vec![0; (1 << 16) / 64];
        for address in wanted.keys() {
            let bit = Self::bit(*address);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        Self { wanted, bits }
    }

    fn bit(address: u64) -> usize {
        (address >> 4) as usize & 0xffff
    }

    fn has(&self, address: u64) -> bool {
        let bit = Self::bit(address);
        self.bits[bit / 64] >> (bit % 64) & 1 == 1 && self.wanted.contains_key(&address)
    }

    /// Where four bytes of an instruction could be an address of interest, relative or absolute: the address after them,
    /// and the one they mean.
    fn candidates(&self, section: &Section, bytes: &[u8]) -> Vec<(u64, u64)> {
        let mut candidates = Vec::new();
        for (i, window) in bytes.windows(4).enumerate() {
            let value = i32::from_le_bytes([window[0], window[1], window[2], window[3]]);
            let next = section.address + i as u64 + 4;
            let relative = next.wrapping_add_signed(value.into());
            if self.has(relative) {
                candidates.push((next, relative));
            }
            let absolute = i64::from(value) as u64;
            if self.has(absolute) {
                candidates.push((next, absolute));
            }
        }
        candidates
    }

    fn pointers(&self, section: &Section, bytes: &[u8], found: &mut Vec<Found>) {
        let skip = section.address.wrapping_neg() as usize % 8;
        let words = bytes.get(skip..).unwrap_or_default().as_chunks::<8>().0;
        let start = section.address + skip as u64;
        for (i, word) in words.iter().enumerate() {
            let target = u64::from_le_bytes(*word);
            if self.has(target) {
                found.push(Found { address: start + i as u64 * 8, target, kind: Kind::Pointer });
            }
        }
    }
}

/// Decodes the functions with candidates in them, each from its start, and keeps what instructions there mean.
fn confirm(
    image: &Image<'_>,
    section: &Section,
    candidates: &[(u64, u64)],
    found: &mut Vec<Found>,
) {
    let mut at = section.address;
    for &(end, target) in candidates {
        let function = image.functions().start_before(end - 4).unwrap_or(section.address);
        // Further on, or where the last candidate was.
        at = at.max(function).max(section.address);
        while at < end {
            let Some(instruction) = code::decode(image, at) else {
                at += 1;
                continue;
            };
            let next = instruction.next_ip();
            if next < end {
                at = next;
                continue;
            }
            let kind = if code::branch_target(&instruction) == Some(target) {
                match instruction.flow_control() {
                    FlowControl::Call => Some(Kind::Call),
                    _ => Some(Kind::Jump),
                }
            } else if code::takes_address(&instruction, target) {
                Some(Kind::Pointer)
            } else {
                None
            };
            // An instruction can have an address in it twice, and counts once.
            let known =
                found.last().is_some_and(|last| (last.address, last.target) == (at, target));
            if let Some(kind) = kind.filter(|_| !known) {
                found.push(Found { address: at, target, kind });
            }
            break;
        }
    }
}
