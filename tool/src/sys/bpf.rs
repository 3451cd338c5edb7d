//! bpf(2): what aya does not offer, behind one unsafe function.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
};

use aya_obj::generated::{
    bpf_attach_type::{BPF_MODIFY_RETURN, BPF_TRACE_KPROBE_MULTI},
    bpf_attr, bpf_insn, bpf_link_info, bpf_prog_info,
    bpf_prog_type::{BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACING},
};

/// `enum bpf_cmd` of include/uapi/linux/bpf.h, as far as it is used here.
#[derive(Clone, Copy)]
enum Command {
    ProgLoad = 5,
    ObjGetInfoByFd = 15,
    LinkCreate = 28,
}

fn bpf(command: Command, attr: &mut bpf_attr) -> io::Result<libc::c_long> {
    // SAFETY: the attribute is an initialised union of the size that is passed along. The pointers in it were made from
    // references that live until the call returns, by the callers below; the kernel copies what they point to.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command as libc::c_int, &raw mut *attr, size_of::<bpf_attr>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn bpf_for_descriptor(command: Command, attr: &mut bpf_attr) -> io::Result<OwnedFd> {
    let descriptor = bpf(command, attr)?;
    // SAFETY: on success these commands return a new descriptor, close-on-exec, that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

fn zeroed() -> bpf_attr {
    // SAFETY: a union of plain integers, for which all-zero is the kernel's "not given".
    unsafe { std::mem::zeroed() }
}

/// Which kind of program a body is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// For a kprobe-multi link. Minimum kernel: 5.18.
    KprobeMulti,
    /// For the function with this BTF id in vmlinux. Minimum kernel: 5.7.
    ModifyReturn {
        /// Of the BTF kind FUNC.
        btf_id: u32,
    },
}

/// Loads a program. The second half of an error is the verifier's log, empty if it had nothing to say.
pub fn load_program(
    kind: ProgramKind,
    name: &str,
    licence: &CStr,
    instructions: &[bpf_insn],
) -> Result<OwnedFd, (io::Error, String)> {
    let without_log = try_load(kind, name, licence, instructions, &mut []);
    let Err(first) = without_log else { return without_log.map_err(|e| (e, String::new())) };
    // Only now, because writing the log costs time and a log that does not fit makes a good program fail.
    let mut log = vec![0; 1 << 20];
    match try_load(kind, name, licence, instructions, &mut log) {
        Ok(program) => Ok(program),
        Err(_) => {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            Err((first, String::from_utf8_lossy(&log[..end]).trim().to_owned()))
        }
    }
}

fn try_load(
    kind: ProgramKind,
    name: &str,
    licence: &CStr,
    instructions: &[bpf_insn],
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: every field of the union is plain integers; this is the one that BPF_PROG_LOAD reads.
    let load = unsafe { &mut attr.__bindgen_anon_3 };
    match kind {
        ProgramKind::KprobeMulti => {
            load.prog_type = BPF_PROG_TYPE_KPROBE as u32;
            load.expected_attach_type = BPF_TRACE_KPROBE_MULTI as u32;
        }
        ProgramKind::ModifyReturn { btf_id } => {
            load.prog_type = BPF_PROG_TYPE_TRACING as u32;
            load.expected_attach_type = BPF_MODIFY_RETURN as u32;
            load.attach_btf_id = btf_id;
        }
    }
    load.insns = instructions.as_ptr() as u64;
    load.insn_cnt = u32::try_from(instructions.len())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    load.license = licence.as_ptr() as u64;
    // The last byte stays 0.
    for (to, from) in load.prog_name.iter_mut().take(15).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    if !log.is_empty() {
        load.log_level = 1;
        load.log_buf = log.as_mut_ptr() as u64;
        load.log_size = log.len() as u32;
    }
    bpf_for_descriptor(Command::ProgLoad, &mut attr)
}

/// Where a program goes.
#[derive(Clone, Copy, Debug)]
pub enum Attach<'a> {
    /// On all these functions at once; an address and a cookie for each.
    KprobeMulti {
        /// First addresses.
        addresses: &'a [u64],
        /// As many as addresses.
        cookies: &'a [u64],
    },
    /// On the function that the program was loaded for.
    ModifyReturn {
        /// Handed to the program.
        cookie: u64,
    },
}

/// Attaches a program. Dropping the descriptor detaches it.
pub fn create_link(program: BorrowedFd<'_>, attach: Attach<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: every field of the union is plain integers; this is the one that BPF_LINK_CREATE reads.
    let link = unsafe { &mut attr.link_create };
    link.__bindgen_anon_1.prog_fd = program.as_raw_fd() as u32;
    match attach {
        Attach::KprobeMulti { addresses, cookies } => {
            if addresses.len() != cookies.len() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            link.attach_type = BPF_TRACE_KPROBE_MULTI as u32;
            // SAFETY: as above; the kernel reads this one for kprobe-multi.
            let multi = unsafe { &mut link.__bindgen_anon_3.kprobe_multi };
            multi.cnt = addresses.len() as u32;
            multi.addrs = addresses.as_ptr() as u64;
            multi.cookies = cookies.as_ptr() as u64;
        }
        Attach::ModifyReturn { cookie } => {
            link.attach_type = BPF_MODIFY_RETURN as u32;
            link.__bindgen_anon_3.tracing.cookie = cookie;
        }
    }
    bpf_for_descriptor(Command::LinkCreate, &mut attr)
}

/// What the kernel says of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkInfo {
    /// Of the link.
    pub id: u32,
    /// Of its program.
    pub program_id: u32,
}

/// Asks the kernel for a link.
pub fn link_info(link: impl AsFd) -> io::Result<LinkInfo> {
    // SAFETY: plain integers and unions of them; the kernel fills it in.
    let mut info: bpf_link_info = unsafe { std::mem::zeroed() };
    let mut attr = zeroed();
    // SAFETY: plain integers; this is the one that BPF_OBJ_GET_INFO_BY_FD reads.
    let request = unsafe { &mut attr.info };
    request.bpf_fd = link.as_fd().as_raw_fd() as u32;
    request.info_len = size_of::<bpf_link_info>() as u32;
    request.info = &raw mut info as u64;
    bpf(Command::ObjGetInfoByFd, &mut attr)?;
    Ok(LinkInfo { id: info.id, program_id: info.prog_id })
}

/// How often a program was skipped because it was running on the CPU already. Minimum kernel: 5.12.
pub fn program_misses(program: impl AsFd) -> io::Result<u64> {
    // SAFETY: plain integers; the kernel fills it in.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut attr = zeroed();
    // SAFETY: plain integers; this is the one that BPF_OBJ_GET_INFO_BY_FD reads.
    let request = unsafe { &mut attr.info };
    request.bpf_fd = program.as_fd().as_raw_fd() as u32;
    request.info_len = size_of::<bpf_prog_info>() as u32;
    request.info = &raw mut info as u64;
    bpf(Command::ObjGetInfoByFd, &mut attr)?;
    Ok(info.recursion_misses)
}

/// A program of a few instructions that calls one helper, if the kernel offers that helper to kprobe programs: the cheapest
/// way to ask whether it does.
pub fn kernel_program(helper: i32) -> Result<OwnedFd, io::Error> {
    let call = instruction(0x85, 0, 0, helper);
    let clear = instruction(0xb7, 2, 0, 0);
    let result = instruction(0xb7, 0, 0, 0);
    let exit = instruction(0x95, 0, 0, 0);
    load_program(ProgramKind::KprobeMulti, "inject_probe", c"GPL", &[clear, call, result, exit])
        .map_err(|(error, _)| error)
}

/// A fmod_ret program that lets its function run, loaded for that function and attached to nothing: the cheapest way to
/// ask whether the kernel lets its result be changed.
pub fn modify_return_program(btf_id: u32) -> Result<OwnedFd, io::Error> {
    empty_program(ProgramKind::ModifyReturn { btf_id })
}

/// A program that does nothing.
pub fn empty_program(kind: ProgramKind) -> Result<OwnedFd, io::Error> {
    let result = instruction(0xb7, 0, 0, 0);
    let exit = instruction(0x95, 0, 0, 0);
    load_program(kind, "inject_probe", c"GPL", &[result, exit]).map_err(|(error, _)| error)
}

/// A program that makes its function return `-errno` when the process with this number calls it, and does nothing
/// otherwise. `process` is the number in the initial PID namespace.
pub fn failing_program(kind: ProgramKind, process: u32, errno: i32) -> Result<OwnedFd, io::Error> {
    /// `bpf_get_current_pid_tgid` and `bpf_override_return` of include/uapi/linux/bpf.h.
    const CURRENT: i32 = 14;
    const OVERRIDE: i32 = 58;
    let mut keep_context = instruction(0xbf, 6, 0, 0);
    keep_context.set_src_reg(1);
    let mut skip = instruction(0x55, 0, 0, process as i32);
    let mut give_context = instruction(0xbf, 1, 0, 0);
    give_context.set_src_reg(6);
    let exit = instruction(0x95, 0, 0, 0);
    let mut program =
        vec![keep_context, instruction(0x85, 0, 0, CURRENT), instruction(0x77, 0, 0, 32)];
    match kind {
        ProgramKind::KprobeMulti => {
            skip.off = 3;
            let value = instruction(0xb7, 2, 0, -errno);
            program.extend([skip, give_context, value, instruction(0x85, 0, 0, OVERRIDE)]);
        }
        ProgramKind::ModifyReturn { .. } => {
            skip.off = 2;
            program.extend([skip, instruction(0xb7, 0, 0, -errno), exit]);
        }
    }
    program.extend([instruction(0xb7, 0, 0, 0), exit]);
    load_program(kind, "inject_trial", c"GPL", &program).map_err(|(error, _)| error)
}

fn instruction(code: u8, destination: u8, source: u8, immediate: i32) -> bpf_insn {
    // SAFETY: plain integers and bit fields.
    let mut instruction: bpf_insn = unsafe { std::mem::zeroed() };
    instruction.code = code;
    instruction.set_dst_reg(destination);
    instruction.set_src_reg(source);
    instruction.imm = immediate;
    instruction
}
