//! `cargo xtask demo`: a real kernel's slab allocator fails on purpose, in the guest.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::kernel::list::DEFAULT;
use crate::paths::Paths;
use crate::vm::{Guest, Job};

const LIMIT: Duration = Duration::from_secs(5 * 60);

pub fn run(paths: &Paths) -> Result<()> {
    let guest = Guest::prepare(paths, DEFAULT)?;
    let script = "#!/bin/sh\nexec /demo/demo.sh\n";
    let job = Job { name: "demo", script, kaslr: true, append: &[], limit: LIMIT };
    let outcome = guest.run(&job, |line| println!("{line}"))?;
    if let Some(text) = outcome.complaints {
        bail!(text);
    }
    if outcome.status != 0 {
        bail!("the demo ended with status {}", outcome.status);
    }
    Ok(())
}
