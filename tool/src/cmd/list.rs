//! `inject list`: what can be made to fail, and how.

use std::io::{self, Write as _};

use anyhow::bail;
use wildmatch::WildMatch;

use crate::{
    cli::ListArgs,
    exit::Exit,
    image::{Entry, Image},
    keys::{FunctionKey, KeyKnowledge},
    plan::{Facts, Resolved, possible, resolve},
    report::table,
    running::Running,
    suggest,
};

/// Prints the table on stdout.
pub fn list(arguments: &ListArgs) -> anyhow::Result<Exit> {
    let text = match &arguments.image {
        Some(path) => {
            let image = Image::open(path)?;
            of_image(&image, &Patterns::new(&arguments.patterns))?
        }
        None => of_running(&Patterns::new(&arguments.patterns))?,
    };
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        written => Ok(written.map(|()| Exit::Success)?),
    }
}

struct Patterns<'a> {
    words: &'a [String],
}

impl<'a> Patterns<'a> {
    fn new(words: &'a [String]) -> Self {
        Self { words }
    }

    fn take(&self, names: &[&str]) -> bool {
        self.words.is_empty()
            || self.words.iter().any(|word| {
                let glob = WildMatch::new(word);
                names.iter().any(|name| glob.matches(name))
            })
    }

    /// Fails if a pattern found nothing among these names.
    fn check(&self, names: &[&str]) -> anyhow::Result<()> {
        for word in self.words {
            let glob = WildMatch::new(word);
            if !names.iter().any(|name| glob.matches(name)) {
                let nearest = suggest::nearest(word, names.iter().copied());
                bail!(
                    "no injectable function is named '{word}'{}",
                    suggest::did_you_mean(&nearest)
                );
            }
        }
        Ok(())
    }
}

fn of_image(image: &Image<'_>, patterns: &Patterns<'_>) -> anyhow::Result<String> {
    let entries = image.whitelist()?;
    let every: Vec<&str> =
        entries.iter().flat_map(|entry| entry.names.iter().map(String::as_str)).collect();
    patterns.check(&every)?;
    let mut rows = Vec::new();
    for Entry { names, error_type, key, address } in &entries {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !patterns.take(&names) {
            continue;
        }
        let (key, sites, state) = match key {
            None => ("-".to_owned(), "-".to_owned(), "-".to_owned()),
            Some(key) => (
                key.name.clone(),
                image.sites_of(key.address)?.len().to_string(),
                if image.initial_count(key.address)? == 0 { "off" } else { "on" }.to_owned(),
            ),
        };
        let name = names.first().map_or_else(|| format!("{address:#x}"), |name| (*name).to_owned());
        rows.push(vec![name, error_type.to_string(), key, state, sites]);
    }
    Ok(table(&["FUNCTION", "TYPE", "KEY", "AT BOOT", "SITES"], &rows))
}

fn of_running(patterns: &Patterns<'_>) -> anyhow::Result<String> {
    let running = Running::read()?;
    let keys = KeyKnowledge::gather(&running.symbols, None);
    let every: Vec<&str> = running.injectable.iter().map(|entry| entry.name.as_str()).collect();
    patterns.check(&every)?;
    let mut rows = Vec::new();
    for entry in running.injectable.iter().filter(|entry| patterns.take(&[&entry.name])) {
        let address = running
            .symbols
            .named(&entry.name)
            .find(|symbol| symbol.is_function() && symbol.module == entry.module.as_deref())
            .map(|symbol| symbol.address);
        let (key, state) = match (&keys, address) {
            (Ok(keys), Some(address)) => key_cells(&keys.of(&entry.name, address)?),
            _ => ("?".to_owned(), "?".to_owned()),
        };
        let mechanism = running.with_facts(|facts| mechanism(&facts, &entry.name));
        rows.push(vec![entry.name.clone(), entry.error_type.to_string(), key, state, mechanism]);
    }
    if let Err(error) = keys {
        eprintln!("inject: {error}");
    }
    Ok(table(&["FUNCTION", "TYPE", "KEY", "STATE", "MECHANISM"], &rows))
}

fn key_cells(key: &FunctionKey) -> (String, String) {
    match key {
        FunctionKey::None => ("-".to_owned(), "-".to_owned()),
        FunctionKey::Unknown => ("?".to_owned(), "?".to_owned()),
        FunctionKey::Guarded { name, count, .. } => (
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

/// The mechanism that `run` would choose without options, or why none.
fn mechanism(facts: &Facts<'_>, name: &str) -> String {
    match resolve(facts, name, &[]) {
        Ok(Resolved::Name(target)) => match possible(facts, &target) {
            Ok(mechanism) => mechanism.to_string(),
            Err(error) => format!("none: {error}"),
        },
        Ok(Resolved::Glob(_)) => "?".to_owned(),
        Err(error) => format!("none: {error}"),
    }
}
