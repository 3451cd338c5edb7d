//! `inject check`: whether a fault can arrive, and if not, why.

use crate::{
    check::{self, Machine, Report},
    cli::CheckArgs,
    exit::Exit,
    keys::KeyKnowledge,
    listing::calls_of_running,
    running::Running,
};

/// Prints the report on stdout; status 123 if a fault cannot arrive.
pub fn check(arguments: &CheckArgs) -> anyhow::Result<Exit> {
    let machine = Machine::read();
    let mut report = Report { parts: vec![check::machine(&machine)] };
    // What the machine lacks is said already, and nothing can be said of a function then.
    if report.can_arrive() && !arguments.functions.is_empty() {
        let running = Running::read()?;
        let keys = KeyKnowledge::gather(&running.symbols, None);
        let calls = calls_of_running(&running.symbols);
        for word in &arguments.functions {
            report.parts.extend(check::function(&machine, &running, &keys, &calls, word));
        }
    }
    if arguments.try_it && report.parts[0].is_fine() {
        report.parts.push(check::trial(&machine));
    }
    let text = if arguments.json { check::json(&report)? } else { check::text(&report) };
    super::print(&text)?;
    Ok(if report.can_arrive() { Exit::Success } else { Exit::NotDone })
}
