//! The requests of `/dev/inject_keys`.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _},
};

use inject_common::keys::{
    Count, Function, IOC_COUNT, IOC_HOLD, IOC_RELEASE, IOC_RELEASE_ALL, IOC_VERSION, List, Version,
};

fn ioctl<T>(device: impl AsFd, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the callers below pair each request with the structure whose size is part of the request's number, and
    // what a list points to lives until the call returns.
    let result = unsafe {
        libc::ioctl(device.as_fd().as_raw_fd(), request as libc::Ioctl, &raw mut *argument)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Which interface the module speaks, and what the kernel can do.
pub fn keys_version(device: impl AsFd) -> io::Result<Version> {
    let mut version = Version::default();
    ioctl(device, IOC_VERSION, &mut version)?;
    Ok(version)
}

/// What to do with a list of functions.
#[derive(Clone, Copy, Debug)]
pub enum KeysRequest {
    /// One more reference to each, or none to any.
    Hold,
    /// One less.
    Release,
}

/// Does it. An error comes with the index of the function to blame, if it is one.
pub fn keys_list(
    device: impl AsFd,
    request: KeysRequest,
    functions: &[Function],
) -> Result<(), (io::Error, Option<usize>)> {
    let request = match request {
        KeysRequest::Hold => IOC_HOLD,
        KeysRequest::Release => IOC_RELEASE,
    };
    let count = u32::try_from(functions.len())
        .map_err(|_| (io::Error::from(io::ErrorKind::InvalidInput), None))?;
    let mut list = List { functions: functions.as_ptr() as u64, count, failed: count };
    ioctl(device, request, &mut list).map_err(|error| {
        let culprit = Some(list.failed as usize).filter(|index| *index < functions.len());
        (error, culprit)
    })
}

/// Gives back every reference of this open file.
pub fn keys_release_all(device: impl AsFd) -> io::Result<()> {
    ioctl(device, IOC_RELEASE_ALL, &mut ())
}

/// How often the function's key is held.
pub fn keys_count(device: impl AsFd, function: Function) -> io::Result<Count> {
    let mut count = Count { function, ..Count::default() };
    ioctl(device, IOC_COUNT, &mut count)?;
    Ok(count)
}
