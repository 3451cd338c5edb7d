//! Guards: what a function's own body would never fail, because its callers do not check for it.

/// Which tests a function's body makes before it fails a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardKind {
    /// Index of the argument that holds the allocation flags, where `__GFP_NOFAIL` forbids failure.
    pub flags_argument: Option<u32>,
    /// Index of the argument that must not be the bootstrap cache (`kmem_cache`).
    pub cache_argument: Option<u32>,
}

/// `__GFP_NOFAIL`: bit 15 from Linux 4.13 to 7.3 (include/linux/gfp.h, later gfp_types.h).
pub const GFP_NOFAIL: u64 = 1 << 15;

/// The guard of a function, if it has one.
///
/// Sources: `__should_failslab()` in mm/failslab.c and `__should_fail_alloc_page()` in mm/page_alloc.c or
/// mm/fail_page_alloc.c.
pub fn guard_kind(function: &str) -> Option<GuardKind> {
    match function {
        "should_failslab" => Some(GuardKind { flags_argument: Some(1), cache_argument: Some(0) }),
        "should_fail_alloc_page" => {
            Some(GuardKind { flags_argument: Some(0), cache_argument: None })
        }
        _ => None,
    }
}
