//! Rules and facts to mechanisms. Pure: nothing is touched, and every reason against is collected.

use std::fmt;

use thiserror::Error;

use crate::{
    image::ErrorType,
    rule::{Asked, Rate, RuleError, Value},
    running::{
        Answer, Features, Injectable, InjectableList, Running, SYSCALL_PREFIX, Symbols, Traceable,
    },
    suggest,
};

/// How a program gets on a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// One link over many functions.
    KprobeMulti,
    /// A program and a link a function.
    FmodRet,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::KprobeMulti => "kprobe-multi",
            Self::FmodRet => "fmod-ret",
        })
    }
}

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Names and addresses.
    pub symbols: &'a Symbols,
    /// The error injection list.
    pub injectable: &'a InjectableList,
    /// What ftrace can hook.
    pub traceable: &'a Traceable,
    /// What mechanisms can work.
    pub features: &'a Features,
    /// The BTF ids of the functions of a name.
    pub btf_functions: &'a dyn Fn(&str) -> Vec<u32>,
}

impl Running {
    /// Makes a plan from this kernel's facts.
    pub fn plan(&self, request: &Request) -> Result<Vec<Planned>, Vec<PlanError>> {
        self.with_facts(|facts| plan(&facts, request))
    }

    /// Hands out the facts.
    pub fn with_facts<T>(&self, act: impl FnOnce(Facts<'_>) -> T) -> T {
        let btf_functions =
            |name: &str| self.btf.as_ref().map(|btf| btf.functions(name)).unwrap_or_default();
        act(Facts {
            symbols: &self.symbols,
            injectable: &self.injectable,
            traceable: &self.traceable,
            features: &self.features,
            btf_functions: &btf_functions,
        })
    }
}

/// What is asked for, of every function alike.
#[derive(Clone, Debug)]
pub struct Request {
    /// As written: names, or `sys:NAME`.
    pub functions: Vec<String>,
    /// What they return.
    pub value: Asked,
    /// Which share of the calls.
    pub rate: Rate,
    /// None: the best that works.
    pub method: Option<Mechanism>,
}

/// A function with everything that attaching needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The kernel's name for it.
    pub name: String,
    /// At run time.
    pub address: u64,
    /// Which results are failures.
    pub error_type: ErrorType,
    /// What it returns.
    pub value: Value,
    /// Which share of the calls.
    pub rate: Rate,
    /// How the program gets there.
    pub mechanism: Mechanism,
    /// Why that one.
    pub because: String,
    /// In vmlinux's BTF; for fmod-ret.
    pub btf_id: Option<u32>,
}

/// Why a function cannot be made to fail as asked.
#[derive(Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error("unknown function '{word}'{}", suggest::did_you_mean(nearest))]
    Unknown { word: String, nearest: Vec<String> },
    #[error(
        "{name} exists, but is not injectable: it is not in the kernel's error injection list{}; \
         'inject list' shows what is",
        suggest::did_you_mean(nearest)
    )]
    NotInjectable { name: String, nearest: Vec<String> },
    #[error(
        "{name} cannot be made to fail: this kernel was built without CONFIG_FUNCTION_ERROR_INJECTION, \
         so only system calls (sys:NAME) and LSM hooks (security_NAME) can; \
         'inject list' shows them"
    )]
    NoList { name: String },
    #[error(
        "{name} stands more than once in this kernel's symbols, and which one is meant cannot be told"
    )]
    Ambiguous { name: String },
    #[error("{name} is named twice; name it once")]
    Twice { name: String },
    #[error("{name}: no mechanism works: {}", reasons.join("; "))]
    NoMechanism { name: String, reasons: Vec<String> },
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// Makes a plan, or collects everything that is against it.
pub fn plan(facts: &Facts<'_>, request: &Request) -> Result<Vec<Planned>, Vec<PlanError>> {
    let mut planned: Vec<Planned> = Vec::new();
    let mut errors = Vec::new();
    for word in &request.functions {
        match plan_one(facts, request, word) {
            Ok(one) if planned.iter().any(|other| other.address == one.address) => {
                errors.push(PlanError::Twice { name: word.clone() });
            }
            Ok(one) => planned.push(one),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(planned) } else { Err(errors) }
}

fn plan_one(facts: &Facts<'_>, request: &Request, word: &str) -> Result<Planned, PlanError> {
    let (name, entry) = resolve(facts, word)?;
    let addresses: Vec<u64> = facts
        .symbols
        .named(&name)
        .filter(|symbol| symbol.is_function() && symbol.module == entry.module.as_deref())
        .map(|symbol| symbol.address)
        .collect();
    let [address] = addresses[..] else { return Err(PlanError::Ambiguous { name }) };
    let value = Value::choose(&request.value, &name, entry.error_type)?;
    let choice = choose(facts, request.method, &name, entry, value)?;
    Ok(Planned {
        name,
        address,
        error_type: entry.error_type,
        value,
        rate: request.rate,
        mechanism: choice.mechanism,
        because: choice.because,
        btf_id: choice.btf_id,
    })
}

/// The kernel's name for what a user wrote, with its entry in the list.
pub fn resolve<'a>(facts: &Facts<'a>, word: &str) -> Result<(String, &'a Injectable), PlanError> {
    let name = match word.strip_prefix("sys:") {
        Some(call) => format!("{SYSCALL_PREFIX}{call}"),
        None => word.to_owned(),
    };
    if let Some(entry) = facts.injectable.find(&name, facts.symbols) {
        return Ok((name, entry));
    }
    let exists = facts.symbols.named(&name).any(|symbol| symbol.is_function());
    let listed = facts.injectable.iter().map(|entry| entry.name.as_str());
    let wanted = if exists { name.trim_start_matches("vfs_") } else { &name };
    let nearest: Vec<String> =
        suggest::nearest(wanted, listed).into_iter().map(str::to_owned).collect();
    Err(if exists && facts.injectable.is_absent() {
        PlanError::NoList { name }
    } else if exists {
        PlanError::NotInjectable { name, nearest }
    } else {
        PlanError::Unknown { word: word.to_owned(), nearest }
    })
}

struct Choice {
    mechanism: Mechanism,
    because: String,
    btf_id: Option<u32>,
}

fn choose(
    facts: &Facts<'_>,
    forced: Option<Mechanism>,
    name: &str,
    entry: &Injectable,
    value: Value,
) -> Result<Choice, PlanError> {
    let multi = can_kprobe_multi(facts, name, entry);
    let fmod = can_fmod_ret(facts, name, entry, value.number() == 0);
    let wanted = |mechanism| forced.is_none_or(|forced| forced == mechanism);
    let because = |reason: &str| {
        if forced.is_some() { "asked for with --method".to_owned() } else { reason.to_owned() }
    };
    let mut reasons = Vec::new();
    if wanted(Mechanism::KprobeMulti) {
        match multi {
            Ok(()) => {
                return Ok(Choice {
                    mechanism: Mechanism::KprobeMulti,
                    because: because("one link for all functions"),
                    btf_id: None,
                });
            }
            Err(reason) => reasons.push(format!("kprobe-multi: {reason}")),
        }
    }
    if wanted(Mechanism::FmodRet) {
        match fmod {
            Ok(btf_id) => {
                return Ok(Choice {
                    mechanism: Mechanism::FmodRet,
                    because: because(&reasons.join("; ")),
                    btf_id: Some(btf_id),
                });
            }
            Err(reason) => reasons.push(format!("fmod-ret: {reason}")),
        }
    }
    Err(PlanError::NoMechanism { name: name.to_owned(), reasons })
}

/// Each mechanism that can fail the function, best first, or why it cannot. `zero`: by returning 0.
pub fn mechanisms(
    facts: &Facts<'_>,
    name: &str,
    entry: &Injectable,
    zero: bool,
) -> [(Mechanism, Result<(), String>); 2] {
    [
        (Mechanism::KprobeMulti, can_kprobe_multi(facts, name, entry)),
        (Mechanism::FmodRet, can_fmod_ret(facts, name, entry, zero).map(|_| ())),
    ]
}

fn can_kprobe_multi(facts: &Facts<'_>, name: &str, entry: &Injectable) -> Result<(), String> {
    if entry.fmod_ret_only {
        return Err("it is not in the kernel's error injection list".to_owned());
    }
    if let Answer::No(reason) = &facts.features.kprobe_multi {
        return Err(reason.clone());
    }
    let traceable = |name| facts.traceable.contains(name);
    // ftrace prints one name an address, which need not be the one that the user wrote.
    if traceable(name) == Some(false) && traceable(&entry.name) == Some(false) {
        return Err("ftrace cannot hook this function".to_owned());
    }
    Ok(())
}

fn can_fmod_ret(
    facts: &Facts<'_>,
    name: &str,
    entry: &Injectable,
    zero: bool,
) -> Result<u32, String> {
    if let Answer::No(reason) = &facts.features.fmod_ret {
        return Err(reason.clone());
    }
    if zero {
        return Err("it cannot return 0, which means 'run the function'".to_owned());
    }
    if let Some(module) = &entry.module {
        return Err(format!("functions of modules ({module}) are not supported yet"));
    }
    let mut ids = (facts.btf_functions)(name);
    if ids.is_empty() {
        ids = (facts.btf_functions)(&entry.name);
    }
    match ids[..] {
        [id] => Ok(id),
        [] => Err("the function is not in this kernel's BTF".to_owned()),
        _ => Err("the function's name is not unique in this kernel's BTF".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Kernel {
        symbols: Symbols,
        injectable: InjectableList,
        traceable: Traceable,
        features: Features,
    }

    fn kernel() -> Kernel {
        let symbols = "\
ffffffff81000010 t should_failslab
ffffffff81000020 t returns_null
ffffffff81000030 t __do_sys_mount
ffffffff81000030 T __x64_sys_mount
ffffffff81000040 t vfs_mkdir
ffffffff81000050 t __x64_sys_mkdir
ffffffff81000060 t twice
ffffffff81000070 t twice
ffffffff81000080 t dark
";
        let list = "should_failslab\tERRNO\nreturns_null\tNULL\n__do_sys_mount\tERRNO\n\
                    __x64_sys_mkdir\tERRNO\ntwice\tERRNO\ndark\tERRNO\n";
        Kernel {
            symbols: Symbols::parse(symbols.to_owned()),
            injectable: InjectableList::parse(list).unwrap(),
            traceable: Traceable::parse(
                "should_failslab\nreturns_null\n__do_sys_mount\n__x64_sys_mkdir\ntwice\n",
            ),
            features: Features { kprobe_multi: Answer::Yes, fmod_ret: Answer::Yes },
        }
    }

    fn request(functions: &[&str]) -> Request {
        Request {
            functions: functions.iter().map(|name| (*name).to_owned()).collect(),
            value: Asked::Default,
            rate: Rate::ALWAYS,
            method: None,
        }
    }

    fn run(kernel: &Kernel, request: &Request) -> Result<Vec<Planned>, Vec<PlanError>> {
        let btf = |name: &str| match name {
            "should_failslab" => vec![7],
            "__x64_sys_mount" => vec![8],
            "returns_null" => vec![9],
            _ => vec![],
        };
        let facts = Facts {
            symbols: &kernel.symbols,
            injectable: &kernel.injectable,
            traceable: &kernel.traceable,
            features: &kernel.features,
            btf_functions: &btf,
        };
        plan(&facts, request)
    }

    fn error(kernel: &Kernel, request: &Request) -> String {
        let errors = run(kernel, request).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn kprobe_multi_is_taken_where_it_works() {
        let planned = run(&kernel(), &request(&["should_failslab"])).unwrap();
        assert_eq!(planned[0].mechanism, Mechanism::KprobeMulti);
        assert_eq!(planned[0].address, 0xffff_ffff_8100_0010);
        assert_eq!(planned[0].value.number(), -12);
    }

    #[test]
    fn fmod_ret_steps_in_and_says_why() {
        let mut kernel = kernel();
        kernel.features.kprobe_multi = Answer::No("no fprobe".to_owned());
        let planned = run(&kernel, &request(&["should_failslab"])).unwrap();
        assert_eq!(planned[0].mechanism, Mechanism::FmodRet);
        assert_eq!(planned[0].btf_id, Some(7));
        assert_eq!(planned[0].because, "kprobe-multi: no fprobe");
    }

    #[test]
    fn fmod_ret_cannot_deliver_a_null_pointer() {
        let mut forced = request(&["returns_null"]);
        forced.method = Some(Mechanism::FmodRet);
        assert!(error(&kernel(), &forced).contains("cannot return 0"));
    }

    #[test]
    fn a_system_call_is_found_by_its_plain_name_and_by_an_alias() {
        let planned = run(&kernel(), &request(&["sys:mount"])).unwrap();
        assert_eq!(planned[0].name, "__x64_sys_mount");
        let twice = error(&kernel(), &request(&["sys:mount", "__do_sys_mount"]));
        assert!(twice.contains("named twice"), "{twice}");
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let all = error(&kernel(), &request(&["should_failslap", "vfs_mkdir", "twice", "dark"]));
        let lines: Vec<_> = all.lines().collect();
        assert!(lines[0].contains("did you mean should_failslab"), "{all}");
        assert!(lines[1].contains("not injectable"), "{all}");
        assert!(lines[1].contains("__x64_sys_mkdir"), "{all}");
        assert!(lines[2].contains("more than once"), "{all}");
        assert!(lines[3].contains("--errno"), "{all}");
    }

    #[test]
    fn a_function_that_nothing_can_hook_is_refused_with_every_reason() {
        let mut request = request(&["dark"]);
        request.value = Asked::Errno("EIO".to_owned());
        let message = error(&kernel(), &request);
        assert!(message.contains("ftrace cannot hook"), "{message}");
        assert!(message.contains("not in this kernel's BTF"), "{message}");
    }
}
