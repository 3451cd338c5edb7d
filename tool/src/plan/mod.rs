//! Rules and facts to mechanisms. Pure: nothing is touched, and every reason against is collected.

mod choose;
mod error;
mod resolve;
#[cfg(test)]
mod tests;

use std::fmt;

pub use choose::mechanisms;
pub use error::PlanError;
pub use resolve::{Resolved, Target, resolve};

use crate::{
    image::ErrorType,
    rule::{Asked, Rate, Value, When, Word},
    running::{Features, InjectableList, Running, Symbols, Traceable},
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
    pub btf_functions: &'a dyn Fn(&str) -> Vec<BtfFunction>,
}

/// A function in vmlinux's BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfFunction {
    /// Its id.
    pub id: u32,
    /// Whether it returns something.
    pub returns: bool,
}

impl Running {
    /// Makes a plan from this kernel's facts.
    pub fn plan(&self, request: &Request) -> Result<Plan, Vec<PlanError>> {
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

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Functions with their options, the plain ones merged in.
    pub words: Vec<Word>,
    /// Globs of what a glob leaves out.
    pub exclude: Vec<String>,
    /// None: the best that works.
    pub method: Option<Mechanism>,
    /// Whether values that are no failures will do.
    pub any_value: bool,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Each function once.
    pub functions: Vec<Planned>,
    /// What globs matched and cannot be hooked, with the reason.
    pub left_out: Vec<(String, String)>,
}

impl Plan {
    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.functions.iter().map(|function| function.rules.len()).sum()
    }
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
    /// In the order of the command line.
    pub rules: Vec<PlannedRule>,
    /// Whether the user named it, and did not only mean it with a glob.
    pub named: bool,
    /// How the program gets there.
    pub mechanism: Mechanism,
    /// Why that one.
    pub because: String,
    /// In vmlinux's BTF; for fmod-ret.
    pub btf_id: Option<u32>,
}

/// What happens to a function's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRule {
    /// What it returns.
    pub value: Value,
    /// Which share of the calls that `when` leaves.
    pub rate: Rate,
    /// Which calls, by number; empty: all.
    pub when: Vec<When>,
    /// How many at most.
    pub times: Option<u64>,
}

impl fmt::Display for PlannedRule {
    /// `ENOMEM at 1 %, calls 3+5, 2 times`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.value, self.rate)?;
        if !self.when.is_empty() {
            let when: Vec<String> = self.when.iter().map(ToString::to_string).collect();
            write!(f, ", calls {}", when.join(" and "))?;
        }
        match self.times {
            Some(times) => write!(f, ", {times} times"),
            None => Ok(()),
        }
    }
}

/// Makes a plan, or collects everything that is against it.
pub fn plan(facts: &Facts<'_>, request: &Request) -> Result<Plan, Vec<PlanError>> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    for word in &request.words {
        match resolve(facts, &word.pattern, &request.exclude) {
            Err(error) => errors.push(error),
            Ok(Resolved::Name(target)) => match plan.add(facts, request, word, target) {
                Ok(function) => function.named = true,
                Err(error) => errors.push(error),
            },
            Ok(Resolved::Glob(targets)) => {
                let before = plan.rules();
                for target in targets {
                    let name = target.name.clone();
                    if let Err(error) = plan.add(facts, request, word, target) {
                        plan.left_out.push((name, error.to_string()));
                    }
                }
                if plan.rules() == before {
                    errors.push(PlanError::NothingLeft { pattern: word.pattern.clone() });
                }
            }
        }
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

impl Plan {
    fn add(
        &mut self,
        facts: &Facts<'_>,
        request: &Request,
        word: &Word,
        target: Target,
    ) -> Result<&mut Planned, PlanError> {
        let asked = word.options.value.clone().unwrap_or(Asked::Default);
        let value = Value::choose(&asked, &target.name, target.error_type, request.any_value)?;
        let rule = PlannedRule {
            value,
            rate: word.options.rate.unwrap_or(Rate::ALWAYS),
            when: word.options.when.clone(),
            times: word.options.times,
        };
        if rule.when.len() > inject_common::map::MAX_WHEN {
            return Err(PlanError::TooManyWhens { name: target.name });
        }
        // A later rule may ask more of the mechanism than the earlier ones did.
        let known = self.functions.iter().position(|known| known.address == target.address);
        let zero = value.number() == 0
            || known.is_some_and(|at| {
                self.functions[at].rules.iter().any(|rule| rule.value.number() == 0)
            });
        let choice = choose::choose(facts, request.method, &target, zero)?;
        let at = known.unwrap_or(self.functions.len());
        if known.is_none() {
            self.functions.push(Planned {
                name: target.name,
                address: target.address,
                error_type: target.error_type,
                rules: Vec::new(),
                named: false,
                mechanism: choice.mechanism,
                because: String::new(),
                btf_id: None,
            });
        }
        let function = &mut self.functions[at];
        if function.rules.len() >= inject_common::map::MAX_RULES_PER_FUNCTION as usize {
            return Err(PlanError::TooManyRules { name: function.name.clone() });
        }
        function.rules.push(rule);
        function.mechanism = choice.mechanism;
        function.because = choice.because;
        function.btf_id = choice.btf_id;
        Ok(function)
    }
}
