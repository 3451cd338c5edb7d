//! From an image alone.

use std::collections::{HashMap, HashSet};

use super::{Function, Key, Listing, Source, syscall_alias};
use crate::image::{Calls, Entry, Image, ImageError};

/// What an image lists, and its LSM hooks.
pub fn of_image(image: &Image<'_>) -> Result<Listing, ImageError> {
    let mut entries = image.whitelist()?;
    let listed = entries.len();
    let hooks = image.lsm_entries()?;
    // Some are in the list as well.
    let addresses: HashSet<u64> = entries.iter().map(|entry| entry.address).collect();
    entries.extend(hooks.into_iter().filter(|hook| !addresses.contains(&hook.address)));
    let sites = image.site_counts()?;
    let calls = image.calls(&entries)?;
    let mut notes = Vec::new();
    if calls.is_none() {
        notes.push("calls are found in x86-64 images only".to_owned());
    }
    let mut calls = calls.map(Vec::into_iter);
    let functions = entries
        .into_iter()
        .enumerate()
        .map(|(i, entry)| {
            let calls = calls.as_mut().and_then(Iterator::next);
            function(image, entry, i >= listed, sites.as_ref(), calls)
        })
        .collect::<Result<_, _>>()?;
    Ok(Listing { source: Source::Image { path: image.name().to_owned() }, functions, notes })
}

fn function(
    image: &Image<'_>,
    entry: Entry,
    fmod_ret_only: bool,
    sites: Option<&HashMap<u64, usize>>,
    calls: Option<Calls>,
) -> Result<Function, ImageError> {
    let Entry { address, names, error_type, key } = entry;
    let key = match key {
        None => Key::None,
        Some(key) => Key::Known {
            count: u32::try_from(image.initial_count(key.address)?).ok(),
            sites: sites.map(|sites| sites.get(&key.address).copied().unwrap_or(0)),
            name: Some(key.name),
        },
    };
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(Function {
        name: names.first().cloned().unwrap_or_else(|| format!("{address:#x}")),
        aliases: names.iter().skip(1).cloned().chain(syscall_alias(&all)).collect(),
        error_type,
        fmod_ret_only,
        module: image.module_name(),
        key,
        calls,
        mechanism: None,
    })
}
