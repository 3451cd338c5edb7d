use std::time::Duration;

use anyhow::bail;

use super::*;

fn build_ok(dir: &Path) -> Result<()> {
    Ok(fs::write(dir.join("bzImage"), "kernel")?)
}

fn never(_: &Path) -> Result<()> {
    bail!("built again")
}

#[test]
fn a_finished_kernel_is_not_built_again() {
    let cache = tempfile::tempdir().unwrap();
    drop(entry(cache.path(), "k", "1", build_ok).unwrap());
    let found = entry(cache.path(), "k", "1", never).unwrap();
    assert_eq!(fs::read_to_string(found.dir.join("bzImage")).unwrap(), "kernel");
    assert!(has(cache.path(), "k", "1"));
    assert!(!has(cache.path(), "k", "2"));
}

#[test]
fn a_failed_build_is_not_trusted_and_leaves_nothing_to_the_next() {
    let cache = tempfile::tempdir().unwrap();
    let failed = entry(cache.path(), "k", "1", |dir| {
        fs::write(dir.join("half"), "")?;
        bail!("compiler error")
    });
    assert!(failed.is_err());
    assert!(!has(cache.path(), "k", "1"));
    let made = entry(cache.path(), "k", "1", build_ok).unwrap();
    assert!(!made.dir.join("half").exists());
}

#[test]
fn leftovers_of_other_kernels_go_at_the_next_build() {
    let cache = tempfile::tempdir().unwrap();
    let leftover = cache.path().join("kernels/other-7");
    fs::create_dir_all(&leftover).unwrap();
    drop(entry(cache.path(), "k", "1", build_ok).unwrap());
    assert!(!leftover.exists());
}

#[test]
fn a_build_that_still_runs_is_not_a_leftover() {
    let cache = tempfile::tempdir().unwrap();
    let running = cache.path().join("kernels/other-7");
    fs::create_dir_all(&running).unwrap();
    let lock = open_lock(&running).unwrap();
    lock.lock().unwrap();
    drop(entry(cache.path(), "k", "1", build_ok).unwrap());
    assert!(running.exists());
}

#[test]
fn the_two_last_used_of_a_name_stay() {
    let cache = tempfile::tempdir().unwrap();
    let make = |name: &str, key: &str| {
        drop(entry(cache.path(), name, key, build_ok).unwrap());
        std::thread::sleep(Duration::from_millis(5));
    };
    for (name, key) in [("k", "1"), ("k-x", "1"), ("k", "2"), ("k", "1"), ("k", "3")] {
        make(name, key);
    }
    let left: Vec<bool> = ["1", "2", "3"].map(|key| has(cache.path(), "k", key)).to_vec();
    assert_eq!(left, [true, false, true]);
    assert!(has(cache.path(), "k-x", "1"));
}

#[test]
fn a_kernel_in_use_is_not_removed() {
    let cache = tempfile::tempdir().unwrap();
    let used = entry(cache.path(), "k", "1", build_ok).unwrap();
    for key in ["2", "3", "4"] {
        std::thread::sleep(Duration::from_millis(5));
        drop(entry(cache.path(), "k", key, build_ok).unwrap());
    }
    assert!(used.dir.join("bzImage").exists());
}

#[test]
fn who_has_built_a_kernel_shares_it() {
    let cache = tempfile::tempdir().unwrap();
    let built = entry(cache.path(), "k", "1", build_ok).unwrap();
    assert!(open_lock(&built.dir).unwrap().try_lock_shared().is_ok());
}
