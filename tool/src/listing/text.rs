//! For people: a table.

use super::{Function, Key, Listing, Source, calls};
use crate::report::table;

/// The table.
pub fn text(listing: &Listing) -> String {
    let running = matches!(listing.source, Source::Running { .. });
    let rows: Vec<Vec<String>> = listing.functions.iter().map(row).collect();
    let state = if running { "STATE" } else { "AT BOOT" };
    table(&["FUNCTION", "TYPE", "MODULE", "KEY", state, "CALLS", "MECHANISM", "ALSO"], &rows)
}

fn row(function: &Function) -> Vec<String> {
    let dash = || "-".to_owned();
    let (key, state) = key_cells(&function.key);
    let mechanism = match &function.mechanism {
        _ if function.fmod_ret_only && !matches!(function.mechanism, Some(Err(_))) => {
            "fmod-ret only".to_owned()
        }
        Some(Ok(mechanism)) => mechanism.to_string(),
        Some(Err(_)) => "none".to_owned(),
        None => dash(),
    };
    vec![
        function.name.clone(),
        function.error_type.to_string(),
        function.module.clone().unwrap_or_else(dash),
        key,
        state,
        function.calls.as_ref().map_or_else(|| "?".to_owned(), calls::words),
        mechanism,
        function.aliases.join(" "),
    ]
}

fn key_cells(key: &Key) -> (String, String) {
    match key {
        Key::None => ("-".to_owned(), "-".to_owned()),
        Key::Unknown => ("?".to_owned(), "?".to_owned()),
        Key::Known { name, count, .. } => (
            name.clone().unwrap_or_else(|| "yes".to_owned()),
            match count {
                None => "?".to_owned(),
                Some(0) => "off".to_owned(),
                Some(1) => "on".to_owned(),
                Some(holders) => format!("on ({holders})"),
            },
        ),
    }
}
