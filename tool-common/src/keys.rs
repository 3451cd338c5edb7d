//! The interface of `/dev/inject_keys`, as tool-kmod/inject_keys.h states it in C.

/// The version that this client speaks.
pub const VERSION: u32 = 1;
/// [`Version::features`]: the kernel has keys to hold.
pub const CAN_HOLD: u32 = 1;
/// References that one open file may have at a time.
pub const MAX_REFERENCES: usize = 4096;

/// Answer of [`IOC_VERSION`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Version {
    /// Of the interface.
    pub version: u32,
    /// Bits such as [`CAN_HOLD`].
    pub features: u32,
}

/// A function, and the key that the caller believes guards it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// First address, as in `/proc/kallsyms`.
    pub address: u64,
    /// Address of the key; 0: no opinion.
    pub key: u64,
}

/// Argument of [`IOC_HOLD`] and [`IOC_RELEASE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    /// User address of `count` [`Function`]s.
    pub functions: u64,
    /// How many, at least 1.
    pub count: u32,
    /// Written when the list was read and refused: the index of the function to blame, or `count`. To be set to `count`
    /// before the call.
    pub failed: u32,
}

/// Argument and answer of [`IOC_COUNT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Which.
    pub function: Function,
    /// References of every holder, the kernel's own among them.
    pub count: u32,
    /// References of this file.
    pub held: u32,
}

const WRITE: u32 = 1;
const READ: u32 = 2;

#[cfg(any(
    target_arch = "mips",
    target_arch = "mips64",
    target_arch = "powerpc",
    target_arch = "powerpc64",
    target_arch = "sparc64"
))]
compile_error!("this architecture encodes ioctl requests in a way of its own");

/// The generic encoding of `include/uapi/asm-generic/ioctl.h`.
const fn request(direction: u32, number: u32, size: usize) -> u32 {
    (direction << 30) | ((size as u32) << 16) | ((b'j' as u32) << 8) | number
}

/// Which interface, and what the kernel can do.
pub const IOC_VERSION: u32 = request(READ, 0x40, size_of::<Version>());
/// One more reference to each key, or none to any.
pub const IOC_HOLD: u32 = request(READ | WRITE, 0x41, size_of::<List>());
/// Gives back one reference of this file to each key, or none of any.
pub const IOC_RELEASE: u32 = request(READ | WRITE, 0x42, size_of::<List>());
/// Gives back every reference of this file. Cannot fail.
pub const IOC_RELEASE_ALL: u32 = request(0, 0x44, 0);
/// How often a key is held.
pub const IOC_COUNT: u32 = request(READ | WRITE, 0x43, size_of::<Count>());

const _: () = {
    assert!(size_of::<Version>() == 8);
    assert!(size_of::<Function>() == 16);
    assert!(size_of::<List>() == 16);
    assert!(size_of::<Count>() == 24);
};
