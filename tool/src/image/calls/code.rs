//! Decoding one instruction of the image.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

use crate::image::Image;

/// The longest instruction of x86.
const MAX_LENGTH: u64 = 15;

/// The instruction at `address`; None where no code is, or none that can be decoded.
pub(super) fn decode(image: &Image<'_>, address: u64) -> Option<Instruction> {
    let section = image.file.section_at(address).filter(|section| section.executable)?;
    let start = (address - section.address) as usize;
    let bytes = image.file.section_bytes(section).get(start..)?;
    let bytes = &bytes[..bytes.len().min(MAX_LENGTH as usize)];
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// Where a direct call, jump or conditional jump goes.
pub(super) fn branch_target(instruction: &Instruction) -> Option<u64> {
    let is_branch = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::NearBranch64;
    is_branch.then(|| instruction.near_branch_target())
}

/// Whether the instruction has this address in it other than as a place to go to.
pub(super) fn takes_address(instruction: &Instruction, address: u64) -> bool {
    (0..instruction.op_count()).any(|operand| match instruction.op_kind(operand) {
        OpKind::Memory => {
            instruction.is_ip_rel_memory_operand() && instruction.ip_rel_memory_address() == address
        }
        OpKind::Immediate64 | OpKind::Immediate32to64 | OpKind::Immediate32 => {
            // The address space of code is the upper half: 32 bits stand for a sign-extended 64.
            instruction.immediate(operand) == address
                || instruction.immediate(operand) == address & 0xffff_ffff
        }
        _ => false,
    })
}

/// The table of a computed jump, `jmp *TABLE(,%reg,8)`.
pub(super) fn jump_table(instruction: &Instruction) -> Option<u64> {
    let is_table = instruction.flow_control() == FlowControl::IndirectBranch
        && instruction.op0_kind() == OpKind::Memory
        && instruction.memory_base() == Register::None
        && instruction.memory_index() != Register::None
        && instruction.memory_index_scale() == 8;
    is_table.then(|| instruction.memory_displacement64())
}
