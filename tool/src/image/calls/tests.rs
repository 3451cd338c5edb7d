//! Kernels of a few instructions, written as bytes.

use super::*;
use crate::image::testing::{BSS, DATA, Kernel, TEXT, entry24};

const KEY: u64 = BSS + 64;
const TARGET: u64 = TEXT;
/// Where callers are put.
const CALLER: u64 = TEXT + 0x100;
const TABLE: u64 = 0xffff_ffff_8600_0000;

const RET: &[u8] = &[0xc3];
const NOP5: &[u8] = &[0x0f, 0x1f, 0x44, 0x00, 0x00];

/// A branch of five bytes at `at`.
fn branch(opcode: u8, at: u64, to: u64) -> Vec<u8> {
    let distance = to.wrapping_sub(at + 5) as u32;
    [&[opcode][..], &distance.to_le_bytes()].concat()
}

fn call(at: u64, to: u64) -> Vec<u8> {
    branch(0xe8, at, to)
}

fn jump(at: u64, to: u64) -> Vec<u8> {
    branch(0xe9, at, to)
}

/// `je` over a short distance.
fn je(distance: i8) -> Vec<u8> {
    vec![0x74, distance as u8]
}

/// A kernel with one injectable function behind [`KEY`], a caller of these bytes, and sites: place, target and whether
/// it jumps while the key is off.
struct Case {
    kernel: Kernel,
}

impl Case {
    fn new(caller: &[&[u8]], sites: &[(u64, u64, bool)]) -> Self {
        let mut kernel = Kernel::new();
        let code = caller.concat();
        kernel
            .function("may_fail", TARGET, 16)
            .function("caller", CALLER, code.len() as u64)
            .function("other", CALLER + 0x100, 16)
            .object("may_fail_active", KEY, 16)
            .poke(CALLER, &code)
            .whitelist(24, &[("may_fail", entry24(TARGET, KEY, 2))]);
        let mut table = Vec::new();
        for &(code, target, jumps_when_off) in sites {
            let at = TABLE + table.len() as u64;
            table.extend((code.wrapping_sub(at) as u32).to_le_bytes());
            table.extend((target.wrapping_sub(at + 4) as u32).to_le_bytes());
            table.extend((KEY.wrapping_sub(at + 8) | u64::from(jumps_when_off)).to_le_bytes());
        }
        kernel
            .label("__start___jump_table", TABLE)
            .label("__stop___jump_table", TABLE + table.len() as u64);
        // A table without entries has no bytes to be in a section.
        table.extend([0; 16]);
        kernel.data("__jump_table", TABLE, table);
        Self { kernel }
    }

    fn calls(&self) -> Calls {
        let bytes = self.kernel.build();
        let image = Image::parse("vmlinux", &bytes).unwrap();
        let entries = image.whitelist().unwrap();
        image.calls(&entries).unwrap().unwrap().remove(0)
    }
}

/// Guarded and unguarded calls of a caller with one site.
fn count(caller: &[&[u8]], sites: &[(u64, u64, bool)]) -> (usize, usize) {
    Case::new(caller, sites).calls().count()
}

#[test]
fn a_call_behind_an_unlikely_site_is_guarded() {
    // site: nop; ret; target: call; jmp back.
    let at = CALLER + 6;
    let code: [&[u8]; 4] = [NOP5, RET, &call(at, TARGET), &jump(at + 5, CALLER + 5)];
    let case = Case::new(&code, &[(CALLER, at, false)]);
    let calls = case.calls();
    assert_eq!(calls.count(), (1, 0));
    assert_eq!(calls.calls[0].address, at);
    assert_eq!(calls.calls[0].function.as_deref(), Some("caller"));
    assert!(!calls.calls[0].tail);
    // The same code without the site is not.
    assert_eq!(count(&code, &[]), (0, 1));
}

#[test]
fn a_call_after_a_likely_site_is_guarded() {
    // site: jmp over the call while off.
    let at = CALLER + 5;
    let code: [&[u8]; 3] = [&jump(CALLER, at + 5), &call(at, TARGET), RET];
    assert_eq!(count(&code, &[(CALLER, at + 5, true)]), (1, 0));
}

#[test]
fn a_call_that_a_second_way_leads_to_is_not_guarded() {
    // je call; site: nop; ret; call; ret.
    let at = CALLER + 8;
    let code: [&[u8]; 5] = [&je(6), NOP5, RET, &call(at, TARGET), RET];
    assert_eq!(count(&code, &[(CALLER + 2, at, false)]), (0, 1));
}

#[test]
fn a_call_that_nothing_leads_to_is_not_guarded() {
    let at = CALLER + 6;
    let code: [&[u8]; 3] = [NOP5, RET, &call(at, TARGET)];
    // The site leads elsewhere.
    assert_eq!(count(&code, &[(CALLER, CALLER + 5, false)]), (0, 1));
}

#[test]
fn two_sites_guard_a_call_together() {
    // The same block behind either of two sites, as compilers merge them.
    let at = CALLER + 11;
    let code: [&[u8]; 5] = [NOP5, NOP5, RET, &call(at, TARGET), RET];
    let sites = [(CALLER, at, false), (CALLER + 5, at, false)];
    assert_eq!(count(&code, &sites), (1, 0));
}

#[test]
fn code_behind_a_function_that_does_not_return_is_not_reached_from_there() {
    let panic = CALLER + 0x100;
    let at = CALLER + 13;
    // je panic; site; ret; panic; call.
    let code: [&[u8]; 6] = [&je(6), NOP5, RET, &call(CALLER + 8, panic), &call(at, TARGET), RET];
    let mut case = Case::new(&code, &[(CALLER + 2, at, false)]);
    assert_eq!(case.calls().count(), (0, 1));
    case.kernel.function("panic", panic, 16);
    assert_eq!(case.calls().count(), (1, 0));
}

#[test]
fn a_cold_part_belongs_to_its_function() {
    // The site jumps to another function's symbol, `caller.cold`, where the call is.
    let cold = CALLER + 0x80;
    let code: [&[u8]; 2] = [NOP5, RET];
    let mut case = Case::new(&code, &[(CALLER, cold, false)]);
    case.kernel
        .function("caller.cold", cold, 6)
        .poke(cold, &call(cold, TARGET))
        .poke(cold + 5, RET);
    let calls = case.calls();
    assert_eq!(calls.count(), (1, 0));
    assert_eq!(calls.calls[0].function.as_deref(), Some("caller.cold"));
}

#[test]
fn jumps_and_pointers_are_told_from_calls() {
    let lea = TARGET.wrapping_sub(CALLER + 7) as u32;
    // lea may_fail(%rip), %rax; mov $may_fail, %rdi; je may_fail; jmp may_fail.
    let je_far = TARGET.wrapping_sub(CALLER + 20) as u32;
    let code: [&[u8]; 4] = [
        &[&[0x48, 0x8d, 0x05][..], &lea.to_le_bytes()].concat(),
        &[&[0x48, 0xc7, 0xc7][..], &(TARGET as u32).to_le_bytes()].concat(),
        &[&[0x0f, 0x84][..], &je_far.to_le_bytes()].concat(),
        &jump(CALLER + 20, TARGET),
    ];
    let mut case = Case::new(&code, &[]);
    case.kernel.poke(DATA + 24, &TARGET.to_le_bytes());
    let calls = case.calls();
    assert_eq!(calls.pointers, 3);
    assert_eq!(calls.calls.len(), 2);
    assert!(calls.calls.iter().all(|call| call.tail));
}

#[test]
fn an_address_of_eight_bytes_is_a_pointer_too() {
    let code: [&[u8]; 3] = [&[0x48, 0xb8], &TARGET.to_le_bytes(), RET];
    assert_eq!(Case::new(&code, &[]).calls().pointers, 1);
}

#[test]
fn bytes_that_only_look_like_a_call_are_none() {
    // mov $imm64, %rax with the bytes of a call inside.
    let inside = call(CALLER + 3, TARGET);
    let code: [&[u8]; 3] = [&[0x48, 0xb8, 0x90], &inside, &[0, 0, 0xc3]];
    assert_eq!(Case::new(&code, &[]).calls(), Calls::default());
}

#[test]
fn a_table_of_jumps_is_followed() {
    // jmp *DATA(,%rax,8); ret; case 0: site; ret; call.
    let start = CALLER + 8;
    let at = start + 6;
    let table = [&[0xff, 0x24, 0xc5][..], &(DATA as u32).to_le_bytes()].concat();
    let code: [&[u8]; 6] = [&table, RET, NOP5, RET, &call(at, TARGET), RET];
    let mut case = Case::new(&code, &[(start, at, false)]);
    assert_eq!(case.calls().count(), (0, 1), "nothing leads to the site");
    case.kernel.poke(DATA, &start.to_le_bytes());
    assert_eq!(case.calls().count(), (1, 0));
    case.kernel.poke(DATA + 8, &at.to_le_bytes());
    assert_eq!(case.calls().count(), (0, 1), "another case leads to the call");
}

#[test]
fn calls_to_a_clone_are_counted_apart() {
    let clone = TEXT + 0x40;
    let code: [&[u8]; 2] = [&call(CALLER, clone), RET];
    let mut case = Case::new(&code, &[]);
    case.kernel
        .function("may_fail.constprop.0", clone, 16)
        .function("may_fail.cold", clone + 16, 16)
        .function("may_fail_too.isra.0", clone + 32, 16);
    let calls = case.calls();
    assert_eq!(calls.count(), (0, 0));
    assert_eq!(calls.lost(), 1);
    assert_eq!(calls.clones.len(), 1);
    assert_eq!(calls.clones[0].name, "may_fail.constprop.0");
}

#[test]
fn no_bytes_of_code_make_it_panic() {
    // A fixed sequence of numbers that look random.
    let mut state = 1u32;
    for _ in 0..200 {
        let mut code = Vec::new();
        for _ in 0..64 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            code.push((state >> 24) as u8);
        }
        let at = CALLER + 40;
        code[40..45].copy_from_slice(&call(at, TARGET));
        let _ = Case::new(&[&code], &[(CALLER, at, false)]).calls();
    }
}
