//! Any bytes as a module: it is linked, decompressed first if need be, and read.
#![no_main]

use inject::image::Image;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(image) = Image::parse("m.ko", data) else { return };
    let _ = image.module_name();
    let Ok(entries) = image.whitelist() else { return };
    for key in entries.iter().filter_map(|entry| entry.key.as_ref()).take(8) {
        let _ = image.sites_of(key.address);
        let _ = image.initial_count(key.address);
    }
    let _ = image.calls(&entries);
});
