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
mod stock;

/// What a test does.
pub type Case = fn() -> anyhow::Result<()>;

type Area = (&'static str, &'static [(&'static str, Case)]);

/// All tests for this boot, by path. The first one loads every program: nothing else makes sense if that fails.
pub fn all(with_boot_option: bool) -> Vec<(String, Case)> {
    let usual: &[Area] = &[
        ("run", run::CASES),
        ("list", list::CASES),
        ("check", check::CASES),
        ("scope", scope::CASES),
        ("status", status::CASES),
        ("errors", errors::CASES),
        ("holders::helper", holders::helper::CASES),
        ("holders::legacy", holders::legacy::CASES),
        ("holders::fail_nth", holders::fail_nth::CASES),
        ("holders::table", holders::table::CASES),
        ("holders::target", holders::target::CASES),
        ("holders::churn", holders::churn::CASES),
        ("holders::fuzz", holders::fuzz::CASES),
        ("stock", stock::CASES),
        ("kaslr", kaslr::CASES),
        ("kill", kill::CASES),
        ("demo", demo::CASES),
    ];
    // Under the boot option a key is up from the start, so it is another set of tests.
    let special: &[Area] = &[("holders::boot_option", holders::boot_option::CASES)];
    let (areas, rules) =
        if with_boot_option { (special, Vec::new()) } else { (usual, rules::cases()) };
    areas
        .iter()
        .flat_map(|(area, cases)| {
            cases.iter().map(move |(name, case)| (format!("{area}::{name}"), *case))
        })
        .chain(rules)
        .collect()
}

/// Pairs functions with their names.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub const CASES: &[(&str, $crate::cases::Case)] = &[$((stringify!($name), $name)),+];
    };
}
use cases;
