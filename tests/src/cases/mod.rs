//! The tests: one file an area.

mod check;
mod demo;
mod errors;
mod holders;
mod kaslr;
mod kill;
mod list;
mod rules;
mod run;
mod scope;
mod status;

/// What a test does.
pub type Case = fn() -> anyhow::Result<()>;

/// All tests, by path. The first one loads every program: nothing else makes sense if that fails.
pub fn all() -> Vec<(String, Case)> {
    let areas: [(&str, &[(&str, Case)]); 10] = [
        ("run", run::CASES),
        ("list", list::CASES),
        ("check", check::CASES),
        ("scope", scope::CASES),
        ("status", status::CASES),
        ("errors", errors::CASES),
        ("holders", holders::CASES),
        ("kaslr", kaslr::CASES),
        ("kill", kill::CASES),
        ("demo", demo::CASES),
    ];
    areas
        .into_iter()
        .flat_map(|(area, cases)| {
            cases.iter().map(move |(name, case)| (format!("{area}::{name}"), *case))
        })
        .chain(rules::cases())
        .collect()
}

/// Pairs functions with their names.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub const CASES: &[(&str, $crate::cases::Case)] = &[$((stringify!($name), $name)),+];
    };
}
use cases;
