//! The helper's requests as no sane client makes them.

use std::{
    ffi::c_void,
    fs::File,
    io,
    num::NonZeroUsize,
    os::fd::{AsRawFd as _, RawFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect};

const PAGE: usize = 4096;

/// Memory for arguments: a page to read and write, one to read only, one that nobody may touch.
pub struct Arena {
    start: NonNull<c_void>,
}

// SAFETY: the memory holds atomic numbers, and is accessed as such only.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps it. It stays until the process ends.
    pub fn map() -> io::Result<Self> {
        let size = NonZeroUsize::MIN.saturating_add(3 * PAGE - 1);
        let all = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: new anonymous memory, at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(None, size, all, MapFlags::MAP_PRIVATE) }?;
        for (page, protection) in [(1, ProtFlags::PROT_READ), (2, ProtFlags::PROT_NONE)] {
            // SAFETY: within the mapping just made, which nobody has a reference into.
            unsafe { mprotect(start.byte_add(page * PAGE), PAGE, protection) }?;
        }
        Ok(Self { start })
    }

    /// The address of a byte in it.
    pub fn address(&self, page: usize, offset: usize) -> u64 {
        self.start.as_ptr() as u64 + (page * PAGE + offset) as u64
    }

    /// Puts numbers to the start of the first page.
    pub fn fill(&self, offset: usize, words: &[u64]) {
        assert!(offset.is_multiple_of(8) && offset + words.len() * 8 <= PAGE);
        for (at, word) in words.iter().enumerate() {
            // SAFETY: aligned, and within the first page, which is writable, zeroed at first, and stays mapped.
            let place =
                unsafe { self.start.byte_add(offset + at * 8).cast::<AtomicU64>().as_ref() };
            place.store(*word, Ordering::Relaxed);
        }
    }
}

/// Any request with any argument; the errno, or what the kernel returned.
///
/// The caller passes only addresses in an [`Arena`], or such as no object of this process has.
pub fn ioctl(descriptor: RawFd, request: u32, argument: u64) -> Result<i32, i32> {
    // SAFETY: the kernel checks the address. What it may write to is in an arena, where no object lives.
    let result = unsafe { libc::ioctl(descriptor, request as libc::Ioctl, argument) };
    if result < 0 {
        Err(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    } else {
        Ok(result)
    }
}

/// The helper's device, opened as anybody may try to.
pub fn open() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/inject_keys")
}

/// Its number.
pub fn number(file: &File) -> RawFd {
    file.as_raw_fd()
}

/// Gives an open file another number, for as long as `meanwhile` takes. The number must be nobody's.
pub fn with_number(file: &File, number: RawFd, meanwhile: impl FnOnce()) {
    // SAFETY: no pointers; no object owns the number, so nothing else is closed by this.
    unsafe { libc::dup2(file.as_raw_fd(), number) };
    meanwhile();
    // SAFETY: as above.
    unsafe { libc::close(number) };
}
