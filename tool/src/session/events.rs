//! What the programs report: injections one by one, and stacks with their counts.

use aya::maps::{HashMap, MapData, RingBuf, StackTraceMap};
use inject_common::map::{Event, Hit, HitKey};

use crate::mechanism::{MechanismError, Object};

/// The ring buffer of injections.
pub(super) struct Events {
    ring: RingBuf<MapData>,
}

/// A kernel stack, and how often a rule hit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackHits {
    /// Return addresses, the innermost first; empty: the stack could not be kept.
    pub addresses: Vec<u64>,
    /// Calls.
    pub count: u64,
    /// The number of the first of them.
    pub first: u64,
}

impl Events {
    pub(super) fn take(object: &mut Object) -> Result<Self, MechanismError> {
        const NAME: &str = "EVENTS";
        let map = object
            .ebpf()
            .take_map(NAME)
            .ok_or_else(|| MechanismError::Object(format!("it has no map {NAME}")))?;
        let ring =
            map.try_into().map_err(|source| MechanismError::MapCall { name: NAME, source })?;
        Ok(Self { ring })
    }

    pub(super) fn drain(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(bytes) = self.ring.next() {
            events.extend(event(&bytes));
        }
        events
    }
}

/// By hand, so that no unsafe cast is needed; exhaustive, so that no field is forgotten.
fn event(bytes: &[u8]) -> Option<Event> {
    let bytes: &[u8; size_of::<Event>()] = bytes.try_into().ok()?;
    let long = |at: usize| bytes[at..at + 8].try_into().map(u64::from_ne_bytes).ok();
    let short = |at: usize| bytes[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
    Some(Event {
        time: long(0)?,
        number: long(8)?,
        rule: short(16)?,
        stack: short(20)? as i32,
        process: short(24)?,
        thread: short(28)?,
        comm: bytes[32..].try_into().ok()?,
    })
}

/// The addresses of one stack, the innermost first; empty if it was not kept.
pub(super) fn stack(object: &mut Object, id: i32) -> Vec<u64> {
    let stacks = object.ebpf().map("STACKS").and_then(|map| StackTraceMap::try_from(map).ok());
    let id = u32::try_from(id).ok();
    stacks
        .zip(id)
        .and_then(|(stacks, id)| stacks.get(&id, 0).ok())
        .map(|trace| trace.frames().iter().map(|frame| frame.ip).collect())
        .unwrap_or_default()
}

/// How far into a function its hook can return: past the call that ftrace patches in, and an endbr before it.
const ENTRY: u64 = 32;

/// The stack from the function on: an fmod_ret program sees itself and its trampoline before it.
pub(super) fn from_function(mut addresses: Vec<u64>, function: u64) -> Vec<u64> {
    let is_function =
        |address: &u64| address.checked_sub(function).is_some_and(|offset| offset < ENTRY);
    if let Some(first) = addresses.iter().position(is_function) {
        addresses.drain(..first);
    }
    addresses
}

/// Every stack that was hit, by rule, the most frequent first. To be asked when the session acts no more: these are
/// element calls, which make kprobe programs miss. `functions`: the address of each rule's function.
pub(super) fn hits(object: &mut Object, functions: &[u64]) -> Vec<Vec<StackHits>> {
    let mut by_rule = vec![Vec::new(); functions.len()];
    let keyed: Vec<(HitKey, Hit)> = object
        .ebpf()
        .map("HITS")
        .and_then(|map| HashMap::<&MapData, [u32; 2], [u64; 2]>::try_from(map).ok())
        .map(|hits| hits.iter().filter_map(Result::ok).map(typed).collect())
        .unwrap_or_default();
    for (key, hit) in keyed {
        let rule = key.rule as usize;
        if let (Some(stacks), Some(function)) = (by_rule.get_mut(rule), functions.get(rule)) {
            let addresses = from_function(stack(object, key.stack), *function);
            stacks.push(StackHits { addresses, count: hit.count, first: hit.first });
        }
    }
    for stacks in &mut by_rule {
        stacks.sort_by(|one, other| other.count.cmp(&one.count).then(one.first.cmp(&other.first)));
    }
    by_rule
}

fn typed(([rule, stack], [count, first]): ([u32; 2], [u64; 2])) -> (HitKey, Hit) {
    (HitKey { rule, stack: stack as i32 }, Hit { count, first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_begins_at_the_function() {
        let addresses = vec![0xc000, 0xd000, 0x1005, 0x2000];
        assert_eq!(from_function(addresses.clone(), 0x1000), [0x1005, 0x2000]);
        assert_eq!(from_function(addresses.clone(), 0x9000), addresses);
    }

    #[test]
    fn an_event_is_read_from_where_its_fields_lie() {
        use std::mem::offset_of;
        let mut bytes = [0; size_of::<Event>()];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(offset_of!(Event, time), &1u64.to_ne_bytes());
        put(offset_of!(Event, number), &2u64.to_ne_bytes());
        put(offset_of!(Event, rule), &3u32.to_ne_bytes());
        put(offset_of!(Event, stack), &(-4i32).to_ne_bytes());
        put(offset_of!(Event, process), &5u32.to_ne_bytes());
        put(offset_of!(Event, thread), &6u32.to_ne_bytes());
        put(offset_of!(Event, comm), b"cat");
        let expected = Event {
            time: 1,
            number: 2,
            rule: 3,
            stack: -4,
            process: 5,
            thread: 6,
            comm: *b"cat\0\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        assert_eq!(event(&bytes), Some(expected));
        assert_eq!(event(&bytes[1..]), None);
    }
}
