//! Numbers that `cargo xtask vm-test` passes on from the caller's environment.

/// A number by its name there.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
