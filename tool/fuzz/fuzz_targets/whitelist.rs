//! Any bytes as an image: its whitelist, keys, BTF and identity are read or refused, never a panic.
#![no_main]

use inject::image::Image;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(image) = Image::parse("vmlinux", data) else { return };
    for entry in image.whitelist().unwrap_or_default() {
        if let Some(key) = entry.key {
            let _ = image.initial_count(key.address);
        }
    }
    let _ = image.lsm_hooks();
    let _ = (image.build_id(), image.banner(), image.symbol("_stext"));
});
