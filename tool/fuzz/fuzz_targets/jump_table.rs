//! Any bytes as an image: its jump table is read, and its code followed.
#![no_main]

use inject::image::Image;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(image) = Image::parse("vmlinux", data) else { return };
    let Ok(entries) = image.whitelist() else { return };
    for key in entries.iter().filter_map(|entry| entry.key.as_ref()).take(8) {
        let _ = image.sites_of(key.address);
    }
    let _ = image.calls(&entries);
});
