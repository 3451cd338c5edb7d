//! From the running kernel: its list, its keys through the helper, and its calls from its image, where there is one.

use std::collections::HashMap;

use super::{Function, Key, Listing, Source, syscall_alias};
use crate::{
    image::{Calls, ErrorType},
    keys::{FunctionKey, KeyKnowledge, WitnessError, open_running},
    plan::{Facts, Mechanism, Target, mechanisms},
    running::{Injectable, Running, Symbols, online_image},
};

/// What the running kernel lists, and its LSM hooks.
pub fn of_running(running: &Running) -> anyhow::Result<Listing> {
    let mut notes = Vec::new();
    let names = Names::of(running);
    let keys = KeyKnowledge::gather(&running.symbols, None);
    if let Err(error) = &keys {
        notes.push(error.to_string());
    }
    let calls = match calls_of_running(&running.symbols) {
        Ok(calls) => calls,
        Err(note) => {
            notes.push(note);
            RunningCalls::default()
        }
    };
    let mut functions = Vec::new();
    for entry in running.injectable.iter() {
        let address = names.address(entry);
        let (name, aliases) = names.of_entry(entry, address);
        let known = address.and_then(|address| calls.by_address.get(&address)).cloned();
        let key = match (&keys, address) {
            // A module's key is the helper's to tell; an image knows vmlinux only.
            (Ok(keys), Some(address)) if !entry.fmod_ret_only => {
                key(keys.of(&entry.name, address)?, known.as_ref().and_then(|known| known.sites))
            }
            (Ok(_), _) if entry.fmod_ret_only => Key::None,
            _ => Key::Unknown,
        };
        functions.push(Function {
            mechanism: Some(running.with_facts(|facts| mechanism(&facts, &name, entry, address))),
            name,
            aliases,
            error_type: entry.error_type,
            fmod_ret_only: entry.fmod_ret_only,
            module: entry.module.clone(),
            key,
            calls: known.map(|known| known.calls),
        });
    }
    Ok(Listing { source: Source::Running { image: calls.image }, functions, notes })
}

/// Names of addresses, from one pass over the symbols.
struct Names<'r> {
    by_address: HashMap<u64, Vec<&'r str>>,
    by_name: HashMap<(&'r str, Option<&'r str>), u64>,
}

impl<'r> Names<'r> {
    fn of(running: &'r Running) -> Self {
        let wanted: HashMap<(&str, Option<&str>), ()> = running
            .injectable
            .iter()
            .map(|entry| ((entry.name.as_str(), entry.module.as_deref()), ()))
            .collect();
        let mut by_address: HashMap<u64, Vec<&str>> = HashMap::new();
        let mut by_name = HashMap::new();
        for symbol in running.symbols.iter().filter(|symbol| symbol.is_function()) {
            by_address.entry(symbol.address).or_default().push(symbol.name);
            if wanted.contains_key(&(symbol.name, symbol.module)) {
                by_name.entry((symbol.name, symbol.module)).or_insert(symbol.address);
            }
        }
        Self { by_address, by_name }
    }

    fn address(&self, entry: &Injectable) -> Option<u64> {
        self.by_name.get(&(entry.name.as_str(), entry.module.as_deref())).copied()
    }

    /// The kernel's name for an entry, and the others.
    fn of_entry(&self, entry: &Injectable, address: Option<u64>) -> (String, Vec<String>) {
        let name = entry.name.clone();
        let all = address.and_then(|address| self.by_address.get(&address));
        let all: Vec<&str> = all.cloned().unwrap_or_else(|| vec![&entry.name]);
        let others = all.iter().filter(|other| **other != name).map(|other| (*other).to_owned());
        let aliases = others.chain(syscall_alias(&all)).collect();
        (name, aliases)
    }
}

fn key(key: FunctionKey, sites: Option<usize>) -> Key {
    match key {
        FunctionKey::None => Key::None,
        FunctionKey::Unknown => Key::Unknown,
        FunctionKey::Guarded { name, count, .. } => Key::Known { name, count, sites },
    }
}

/// The mechanism that `run` would choose without options, or why none.
fn mechanism(
    facts: &Facts<'_>,
    name: &str,
    entry: &Injectable,
    address: Option<u64>,
) -> Result<Mechanism, String> {
    let address = address.ok_or("its name stands more than once in this kernel's symbols")?;
    let target = Target {
        name: name.to_owned(),
        listed: entry.name.clone(),
        address,
        module: entry.module.clone(),
        error_type: entry.error_type,
        fmod_ret_only: entry.fmod_ret_only,
    };
    let mut reasons = Vec::new();
    for (mechanism, answer) in mechanisms(facts, &target, entry.error_type == ErrorType::Null) {
        match answer {
            Ok(()) => return Ok(mechanism),
            Err(reason) => reasons.push(format!("{mechanism}: {reason}")),
        }
    }
    Err(reasons.join("; "))
}

/// The calls that the running kernel's image has.
#[derive(Clone, Debug, Default)]
pub struct RunningCalls {
    /// Where it is.
    pub image: Option<String>,
    /// By the function's address at run time.
    pub by_address: HashMap<u64, FunctionCalls>,
}

/// Of one function.
#[derive(Clone, Debug)]
pub struct FunctionCalls {
    /// With addresses as linked.
    pub calls: Calls,
    /// How many places its key switches.
    pub sites: Option<usize>,
}

/// Reads the image of the running kernel, if there is one. An error says why nothing is known.
pub fn calls_of_running(symbols: &Symbols) -> Result<RunningCalls, String> {
    let path = online_image().ok_or(
        "calls are not known: this kernel's image is not in /boot; \
         see what 'inject list --image FILE' says of another copy",
    )?;
    let read = || -> Result<RunningCalls, WitnessError> {
        let (image, slide) = open_running(&path, symbols)?;
        let mut entries = image.whitelist()?;
        entries.extend(image.lsm_entries()?);
        let Some(calls) = image.calls(&entries)? else { return Ok(RunningCalls::default()) };
        let sites = image.site_counts()?;
        let by_address = entries
            .iter()
            .zip(calls)
            .map(|(entry, calls)| {
                let sites = entry.key.as_ref().zip(sites.as_ref());
                let sites = sites.map(|(key, all)| all.get(&key.address).copied().unwrap_or(0));
                (entry.address.wrapping_add(slide), FunctionCalls { calls, sites })
            })
            .collect();
        Ok(RunningCalls { image: Some(image.name().to_owned()), by_address })
    };
    read().map_err(|error| format!("calls are not known: {error}"))
}
