//! A kernel without our patches: the helper loads, and says that there is nothing to hold.

use anyhow::ensure;
use inject::keys::KeyDevice;
use inject_common::keys::{IOC_COUNT, IOC_HOLD, IOC_RELEASE, IOC_VERSION};

use super::cases;
use crate::guest::{
    raw::{self, Arena},
    state::address,
};

cases![the_helper_says_that_it_cannot_hold];

fn the_helper_says_that_it_cannot_hold() -> anyhow::Result<()> {
    ensure!(KeyDevice::open()?.is_none(), "the client believes that it can hold");
    let device = raw::open()?;
    let arena = Arena::map()?;
    let (list, functions) = (arena.address(0, 0), arena.address(0, 64));
    arena.fill(64, &[address("should_failslab")?, 0]);
    ensure!(raw::ioctl(raw::number(&device), IOC_VERSION, arena.address(0, 128)) == Ok(0));
    let results = [(IOC_HOLD, libc::EOPNOTSUPP), (IOC_RELEASE, libc::EINVAL)];
    for (request, errno) in results {
        arena.fill(0, &[functions, 1]);
        let result = raw::ioctl(raw::number(&device), request, list);
        ensure!(result == Err(errno), "{request:#x}: {result:?}");
    }
    let result = raw::ioctl(raw::number(&device), IOC_COUNT, functions);
    ensure!(result == Err(libc::EOPNOTSUPP), "count: {result:?}");
    Ok(())
}
