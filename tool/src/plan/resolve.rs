//! What a user wrote to the kernel's functions.

use wildmatch::WildMatch;

use super::{Facts, PlanError};
use crate::{
    image::ErrorType,
    running::{Injectable, SYSCALL_PREFIX, Symbol},
    suggest,
};

/// A function that may be made to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As the user or the kernel calls it.
    pub name: String,
    /// Its name in the error injection list, if it is there; the same for hooks of security modules.
    pub listed: String,
    /// At run time.
    pub address: u64,
    /// None: vmlinux.
    pub module: Option<String>,
    /// Which results are failures.
    pub error_type: ErrorType,
    /// Whether only fmod_ret may go there: a `security_*` hook that is not in the list.
    pub fmod_ret_only: bool,
}

/// What a word stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// One function, named.
    Name(Target),
    /// Whatever a glob matches, at least one.
    Glob(Vec<Target>),
}

/// Hooks of security modules: the kernel lets fmod_ret programs on every function of that prefix
/// (`check_attach_modify_return()` in kernel/bpf/verifier.c).
const SECURITY: &str = "security_";

/// Finds the functions of a word.
pub fn resolve(facts: &Facts<'_>, word: &str, exclude: &[String]) -> Result<Resolved, PlanError> {
    if word.contains(['*', '?']) {
        return glob(facts, word, exclude);
    }
    let (module, name) = split(word);
    let entry = facts
        .injectable
        .find(&name, facts.symbols)
        .filter(|entry| module.is_none() || entry.module.as_deref() == module);
    if let Some(entry) = entry {
        return Ok(Resolved::Name(target(facts, name, entry)?));
    }
    let exists = function_symbols(facts, &name).next().is_some();
    if exists && name.starts_with(SECURITY) {
        return Ok(Resolved::Name(security_hook(facts, &name)?));
    }
    let nearest = nearest(facts, &name, exists);
    Err(if exists && facts.injectable.is_absent() {
        PlanError::NoList { name }
    } else if exists {
        PlanError::NotInjectable { name, nearest }
    } else {
        PlanError::Unknown { word: word.to_owned(), nearest }
    })
}

/// `sys:NAME` is a system call by its plain name, `MODULE:NAME` a function of a module.
fn split(word: &str) -> (Option<&str>, String) {
    match word.split_once(':') {
        Some(("sys", call)) => (None, format!("{SYSCALL_PREFIX}{call}")),
        Some((module, name)) => (Some(module), name.to_owned()),
        None => (None, word.to_owned()),
    }
}

fn function_symbols<'a>(facts: &Facts<'a>, name: &'a str) -> impl Iterator<Item = Symbol<'a>> {
    facts.symbols.named(name).filter(|symbol| symbol.is_function())
}

fn target(facts: &Facts<'_>, name: String, entry: &Injectable) -> Result<Target, PlanError> {
    let addresses: Vec<u64> = function_symbols(facts, &name)
        .filter(|symbol| symbol.module == entry.module.as_deref())
        .map(|symbol| symbol.address)
        .collect();
    let [address] = addresses[..] else { return Err(PlanError::Ambiguous { name }) };
    Ok(Target {
        name,
        listed: entry.name.clone(),
        address,
        module: entry.module.clone(),
        error_type: entry.error_type,
        fmod_ret_only: entry.fmod_ret_only,
    })
}

fn security_hook(facts: &Facts<'_>, name: &str) -> Result<Target, PlanError> {
    let name = name.to_owned();
    let addresses: Vec<u64> = function_symbols(facts, &name).map(|symbol| symbol.address).collect();
    let [address] = addresses[..] else { return Err(PlanError::Ambiguous { name }) };
    if (facts.btf_functions)(&name).iter().any(|function| !function.returns) {
        return Err(PlanError::ReturnsNothing { name });
    }
    Ok(Target {
        listed: name.clone(),
        name,
        address,
        module: None,
        error_type: ErrorType::Errno,
        fmod_ret_only: true,
    })
}

fn glob(facts: &Facts<'_>, word: &str, exclude: &[String]) -> Result<Resolved, PlanError> {
    let (module, pattern) = split(word);
    let pattern = WildMatch::new(&pattern);
    let exclude: Vec<WildMatch> =
        exclude.iter().map(|word| WildMatch::new(&split(word).1)).collect();
    let wanted =
        |name: &str| pattern.matches(name) && !exclude.iter().any(|exclude| exclude.matches(name));
    let mut targets: Vec<Target> = Vec::new();
    for entry in facts.injectable.iter() {
        if module.is_some() && entry.module.as_deref() != module {
            continue;
        }
        // A glob that happens to match hooks does not mean them.
        if entry.name.starts_with(SECURITY) && !word.starts_with(SECURITY) {
            continue;
        }
        // Its own name or, for one of several names of an address, the one that the pattern means.
        let names = std::iter::once(entry.name.as_str()).chain(aliases(facts, entry));
        if let Some(name) = names.into_iter().find(|name| wanted(name))
            && let Ok(target) = target(facts, name.to_owned(), entry)
        {
            targets.push(target);
        }
    }
    if module.is_none() && word.starts_with(SECURITY) {
        let hooks = facts.symbols.iter().filter(|symbol| {
            symbol.is_function() && symbol.name.starts_with(SECURITY) && wanted(symbol.name)
        });
        targets.extend(hooks.filter_map(|symbol| security_hook(facts, symbol.name).ok()));
    }
    targets.sort_by_key(|target| target.address);
    targets.dedup_by_key(|target| target.address);
    if targets.is_empty() {
        return Err(PlanError::NoMatch { pattern: word.to_owned() });
    }
    Ok(Resolved::Glob(targets))
}

/// Other names of the entry's address; only system calls have them.
fn aliases<'a>(facts: &Facts<'a>, entry: &Injectable) -> Vec<&'a str> {
    if !entry.name.contains("_sys_") {
        return Vec::new();
    }
    let address = facts.symbols.address(&entry.name);
    facts
        .symbols
        .iter()
        .filter(|symbol| symbol.is_function() && Some(symbol.address) == address)
        .map(|symbol| symbol.name)
        .collect()
}

fn nearest(facts: &Facts<'_>, name: &str, exists: bool) -> Vec<String> {
    let listed = facts.injectable.iter().map(|entry| entry.name.as_str());
    // The system call next to a function of the virtual file system is the likeliest thing meant.
    let wanted = if exists { name.trim_start_matches("vfs_") } else { name };
    let names = suggest::nearest(wanted, listed).into_iter();
    names
        .map(|name| match name.strip_prefix(SYSCALL_PREFIX) {
            Some(call) => format!("sys:{call}"),
            None => name.to_owned(),
        })
        .collect()
}
