//! Memory mappings: files to read, and arrays shared with eBPF programs.

use std::{fs::File, io, marker::PhantomData, ops::Index, os::fd::AsFd, path::Path};

use inject_common::map::{Control, Counters, Progress};
use memmap2::{Mmap, MmapOptions, MmapRaw};

/// Maps a file for reading.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // SAFETY: the bytes are only ever read as integers and checked before use. If somebody shortens the file meanwhile,
    // reading past its new end ends this process with SIGBUS: that does not break memory safety, and nothing is attached
    // while an image is read.
    unsafe { Mmap::map(&file) }
}

/// Layouts that may lie in memory that eBPF programs write: atomics only.
pub trait Shared: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

impl Shared for Control {}
impl sealed::Sealed for Control {}
impl Shared for Counters {}
impl sealed::Sealed for Counters {}
impl Shared for Progress {}
impl sealed::Sealed for Progress {}

/// The elements of an array map with BPF_F_MMAPABLE. Minimum kernel: 5.5.
#[derive(Debug)]
pub struct SharedArray<T> {
    memory: MmapRaw,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Shared> SharedArray<T> {
    /// Maps `length` elements, which must not be more than the map has.
    pub fn map(array: impl AsFd, length: usize) -> io::Result<Self> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let descriptor = array.as_fd().try_clone_to_owned()?;
        let memory = MmapOptions::new().len(bytes).map_raw(&File::from(descriptor))?;
        Ok(Self { memory, length, element: PhantomData })
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<T: Shared> Index<usize> for SharedArray<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        assert!(index < self.length, "element {index} of {}", self.length);
        let first = self.memory.as_ptr().cast::<T>();
        // SAFETY: in bounds by the assertion; the mapping starts at a page and lives as long as `self`; every bit pattern
        // is valid for these types, and they consist of atomics, so others may write meanwhile.
        unsafe { &*first.add(index) }
    }
}
