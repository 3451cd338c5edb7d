//! A small btrfs for the guest to mount: file systems are what people test with injected faults.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::paths::Paths;
use crate::run::run;

/// Where the guest finds it, compressed: nearly all of it is zeros.
pub const IN_GUEST: &str = "demo/btrfs.img.gz";

/// The least that mkfs.btrfs takes, with data and metadata in the same block groups.
const SIZE: u64 = 16 << 20;

/// Makes the image, or takes the one that was made before, and returns it compressed.
pub fn image(paths: &Paths) -> Result<Vec<u8>> {
    let dir = paths.target.join("vm");
    let image = dir.join("btrfs.img");
    let compressed = dir.join("btrfs.img.gz");
    if !compressed.exists() {
        let log = paths.fresh_log("btrfs")?;
        let file = fs::File::create(&image);
        let file = file.with_context(|| format!("cannot write {}", image.display()))?;
        file.set_len(SIZE)?;
        run("btrfs image", Command::new("mkfs.btrfs").args(["--mixed", "-q"]).arg(&image), &log)?;
        run("btrfs image", Command::new("gzip").args(["-n", "-f"]).arg(&image), &log)?;
    }
    fs::read(&compressed).with_context(|| format!("cannot read {}", compressed.display()))
}
