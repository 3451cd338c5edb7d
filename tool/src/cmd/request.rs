//! From the command line to a request: words with their options, scope, and what needs a word of consent.

use anyhow::bail;

use crate::{
    cli::RunArgs,
    plan::{Plan, Request},
    rule::{Asked, Options, Rate, Word},
};

/// What `run` was asked for.
pub fn request(arguments: &RunArgs) -> anyhow::Result<Request> {
    let plain = Options {
        value: match (&arguments.errno, &arguments.value) {
            (Some(errno), _) => Some(Asked::Errno(errno.clone())),
            (None, Some(value)) => Some(Asked::Return(value.clone())),
            (None, None) => None,
        },
        rate: arguments.rate,
        when: arguments.when.clone(),
        times: arguments.times,
    };
    let words = arguments
        .functions
        .iter()
        .map(|word| {
            let Word { pattern, options } = Word::parse(word)?;
            Ok(Word { pattern, options: options.or(&plain) })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Request {
        words,
        exclude: arguments.exclude.clone(),
        method: arguments.method.forced(),
        any_value: arguments.allow_value,
    })
}

/// Whether anything limits whom the rules are for.
pub fn is_scoped(arguments: &RunArgs) -> bool {
    !arguments.command.is_empty()
        || !arguments.pid.is_empty()
        || arguments.comm.is_some()
        || arguments.uid.is_some()
        || arguments.cgroup.is_some()
}

/// Fails where much of the system would fail and nobody said that this is meant.
pub fn consent(arguments: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    if is_scoped(arguments) || arguments.allow_system_wide {
        return Ok(());
    }
    let rules = plan.functions.iter().flat_map(|function| &function.rules);
    let worst = rules
        .filter(|rule| rule.rate > Rate::TENTH && rule.when.is_empty() && rule.times.is_none())
        .max_by_key(|rule| rule.rate);
    if let Some(worst) = worst {
        bail!(
            "{} of the calls would fail in the whole system, which may not survive it; limit it to a \
             command (-- COMMAND), lower --rate to 10% or less, or insist with --allow-system-wide",
            worst.rate
        );
    }
    Ok(())
}
