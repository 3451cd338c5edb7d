//! Which call fails, for whom, and what is reported: issue by issue of the command line.

mod order;
mod report;
mod scope;
mod values;

use super::Case;

/// All of them, by area.
pub fn cases() -> Vec<(String, Case)> {
    let areas: [(&str, &[(&str, Case)]); 4] = [
        ("order", order::CASES),
        ("report", report::CASES),
        ("scope", scope::CASES),
        ("values", values::CASES),
    ];
    areas
        .into_iter()
        .flat_map(|(area, cases)| {
            cases.iter().map(move |(name, case)| (format!("rules::{area}::{name}"), *case))
        })
        .collect()
}
