//! Cargo started from inside `cargo run`: the outer one's variables must not leak into the inner one.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

use crate::paths::Paths;

/// Cargo, at the root of the clone, of the pinned toolchain.
pub fn cargo(paths: &Paths) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&paths.root);
    for (name, _) in env::vars_os().filter(|(name, _)| leaks(name)) {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_TARGET_DIR", &paths.target);
    cargo
}

/// Variables that `cargo run` sets for the program it starts. Build scripts that name one of them would run again
/// each time somebody alternates between this and plain cargo.
fn leaks(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let exact = [
        "CARGO",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_BIN_NAME",
        "CARGO_CRATE_NAME",
    ];
    exact.contains(&name)
        || name == "CARGO_PRIMARY_PACKAGE"
        || name == "OUT_DIR"
        || name == "LD_LIBRARY_PATH" && env::var_os("CARGO_MANIFEST_DIR").is_some()
        || name.starts_with("CARGO_PKG_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_user_stay_and_the_outer_package_goes() {
        for kept in ["CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "PATH"] {
            assert!(!leaks(OsStr::new(kept)), "{kept}");
        }
        for removed in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO"] {
            assert!(leaks(OsStr::new(removed)), "{removed}");
        }
    }
}
