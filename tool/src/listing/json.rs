//! For programs. The schema is in docs/json.md: fields are added, never changed, within a version.

use serde::Serialize;

use super::{Function, Key, Listing, Source};
use crate::image::Calls;

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'l> {
    schema: &'static str,
    version: u32,
    source: SourceJson<'l>,
    functions: Vec<FunctionJson<'l>>,
    notes: &'l [String],
}

#[derive(Serialize)]
struct SourceJson<'l> {
    kind: &'static str,
    image: Option<&'l str>,
}

#[derive(Serialize)]
struct FunctionJson<'l> {
    name: &'l str,
    aliases: &'l [String],
    error_type: String,
    fmod_ret_only: bool,
    module: Option<&'l str>,
    key: KeyJson<'l>,
    calls: Option<CallsJson<'l>>,
    mechanism: Option<String>,
    no_mechanism_because: Option<&'l str>,
}

#[derive(Serialize)]
struct KeyJson<'l> {
    known: bool,
    guarded: Option<bool>,
    name: Option<&'l str>,
    count: Option<u32>,
    sites: Option<usize>,
}

/// The same for `check`.
#[derive(Serialize)]
pub struct CallsJson<'l> {
    guarded: usize,
    unguarded: usize,
    pointers: usize,
    callers: Vec<CallJson<'l>>,
    clones: Vec<CloneJson<'l>>,
}

#[derive(Serialize)]
struct CallJson<'l> {
    address: String,
    function: Option<&'l str>,
    guarded: bool,
    tail: bool,
    init: bool,
}

#[derive(Serialize)]
struct CloneJson<'l> {
    name: &'l str,
    calls: usize,
}

/// The list as one document.
pub fn json(listing: &Listing) -> serde_json::Result<String> {
    let source = match &listing.source {
        Source::Running { image } => SourceJson { kind: "running", image: image.as_deref() },
        Source::Image { path } => SourceJson { kind: "image", image: Some(path) },
    };
    let document = Document {
        schema: "inject-list",
        version: VERSION,
        source,
        functions: listing.functions.iter().map(function).collect(),
        notes: &listing.notes,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn function(function: &Function) -> FunctionJson<'_> {
    FunctionJson {
        name: &function.name,
        aliases: &function.aliases,
        error_type: function.error_type.to_string(),
        fmod_ret_only: function.fmod_ret_only,
        module: function.module.as_deref(),
        key: key(&function.key),
        calls: function.calls.as_ref().map(CallsJson::of),
        mechanism: match &function.mechanism {
            Some(Ok(mechanism)) => Some(mechanism.to_string()),
            _ => None,
        },
        no_mechanism_because: match &function.mechanism {
            Some(Err(reason)) => Some(reason),
            _ => None,
        },
    }
}

fn key(key: &Key) -> KeyJson<'_> {
    let none = KeyJson { known: true, guarded: Some(false), name: None, count: None, sites: None };
    match key {
        Key::None => none,
        Key::Unknown => KeyJson { known: false, guarded: None, ..none },
        Key::Known { name, count, sites } => KeyJson {
            guarded: Some(true),
            name: name.as_deref(),
            count: *count,
            sites: *sites,
            ..none
        },
    }
}

impl<'l> CallsJson<'l> {
    /// Of a function.
    pub fn of(calls: &'l Calls) -> Self {
        let (guarded, unguarded) = calls.count();
        let callers = calls.calls.iter().map(|call| CallJson {
            address: format!("{:#x}", call.address),
            function: call.function.as_deref(),
            guarded: call.guarded,
            tail: call.tail,
            init: call.init,
        });
        let clones =
            calls.clones.iter().map(|clone| CloneJson { name: &clone.name, calls: clone.calls });
        Self {
            guarded,
            unguarded,
            pointers: calls.pointers,
            callers: callers.collect(),
            clones: clones.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        image::{Call, CloneCalls, ErrorType},
        plan::Mechanism,
    };

    /// What docs/json.md promises.
    #[test]
    fn the_document_is_the_one_that_is_described() {
        let call = Call {
            address: 0x81,
            function: Some("alloc".to_owned()),
            tail: false,
            guarded: true,
            init: false,
        };
        let clone = CloneCalls { name: "f.isra.0".to_owned(), address: 1, calls: 2 };
        let listing = Listing {
            source: Source::Running { image: None },
            functions: vec![Function {
                name: "f".to_owned(),
                aliases: vec!["g".to_owned()],
                error_type: ErrorType::Errno,
                fmod_ret_only: false,
                module: None,
                key: Key::Known {
                    name: Some("f_active".to_owned()),
                    count: Some(0),
                    sites: Some(1),
                },
                calls: Some(Calls { calls: vec![call], pointers: 0, clones: vec![clone] }),
                mechanism: Some(Ok(Mechanism::KprobeMulti)),
            }],
            notes: Vec::new(),
        };
        let value: serde_json::Value = serde_json::from_str(&json(&listing).unwrap()).unwrap();
        let expected = serde_json::json!({
            "schema": "inject-list",
            "version": 1,
            "source": { "kind": "running", "image": null },
            "functions": [{
                "name": "f",
                "aliases": ["g"],
                "error_type": "ERRNO",
                "fmod_ret_only": false,
                "module": null,
                "key": {
                    "known": true, "guarded": true, "name": "f_active", "count": 0, "sites": 1,
                },
                "calls": {
                    "guarded": 1,
                    "unguarded": 0,
                    "pointers": 0,
                    "callers": [{
                        "address": "0x81", "function": "alloc", "guarded": true, "tail": false,
                        "init": false,
                    }],
                    "clones": [{ "name": "f.isra.0", "calls": 2 }],
                },
                "mechanism": "kprobe-multi",
                "no_mechanism_because": null,
            }],
            "notes": [],
        });
        assert_eq!(value, expected);
    }
}
