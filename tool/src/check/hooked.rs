//! Who else is on a function.

use std::fs::read_to_string;

use super::Answer;

const FTRACE: [&str; 2] =
    ["/sys/kernel/tracing/enabled_functions", "/sys/kernel/debug/tracing/enabled_functions"];
const KPROBES: &str = "/sys/kernel/debug/kprobes/list";

/// What others have on a function, by its names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hooked {
    /// ftrace has it, for whomever.
    ftrace: bool,
    /// An eBPF trampoline (fentry, fexit, fmod_ret) is on it.
    trampoline: bool,
    kprobes: usize,
    /// A live patch or another overrider changes where it goes.
    modified: bool,
}

/// Asks the kernel; None: it does not tell.
pub(super) fn hooked(names: &[&str]) -> Option<Hooked> {
    let ftrace = FTRACE.iter().find_map(|path| read_to_string(path).ok())?;
    let kprobes = read_to_string(KPROBES).unwrap_or_default();
    Some(parse(names, &ftrace, &kprobes))
}

/// `enabled_functions` has a name, a count and flags a line (`t_show()` in kernel/trace/ftrace.c); `kprobes/list` has
/// an address, a kind and NAME+OFFSET.
fn parse(names: &[&str], ftrace: &str, kprobes: &str) -> Hooked {
    let mut found = Hooked::default();
    for line in ftrace.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|name| names.contains(&name)) {
            continue;
        }
        found.ftrace = true;
        for word in words {
            found.trampoline |= word == "D" || word.starts_with("direct");
            found.modified |= word == "I";
        }
    }
    let on_it = |line: &&str| {
        let place = line.split_whitespace().nth(2).unwrap_or_default();
        names.contains(&place.split('+').next().unwrap_or_default())
    };
    found.kprobes = kprobes.lines().filter(on_it).count();
    found
}

impl Hooked {
    /// What that means for an injection.
    pub(super) fn answer(&self) -> Answer {
        if self.trampoline {
            return Answer::no(
                "an eBPF trampoline (fentry, fexit or fmod_ret) of somebody else is on it: \
                 beside it, results from kprobe-multi get lost or mixed up",
                "end that tool, or use --method fmod-ret",
            );
        }
        let mut parts = Vec::new();
        if self.kprobes > 0 {
            parts.push(format!("{} kprobes", self.kprobes));
        }
        if self.ftrace {
            parts.push(
                if self.modified { "ftrace, changing its course" } else { "ftrace" }.to_owned(),
            );
        }
        match parts[..] {
            [] => Answer::yes("nobody"),
            _ => Answer::yes(format!("{}; they can stay", parts.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FTRACE: &str = "should_failslab (1) R   D   \tdirect-->bpf_trampoline_1+0x0/0x5a\n\
                          vfs_read (1)             \tfunction_trace_call\n\
                          open_ctree (2) R I   \tops: x\n";
    const KPROBES: &str = "ffffffff81 k  vfs_read+0x0    [FTRACE]\nffffffff82 k vfs_read2+0x4\n";

    #[test]
    fn a_trampoline_is_told_from_harmless_company() {
        assert!(parse(&["should_failslab"], FTRACE, KPROBES).answer().is_no());
        let read = parse(&["vfs_read"], FTRACE, KPROBES);
        let expected = Hooked { ftrace: true, kprobes: 1, ..Hooked::default() };
        assert_eq!(read, expected);
        assert!(read.answer().is_yes());
        assert!(parse(&["open_ctree"], FTRACE, KPROBES).modified);
        assert_eq!(parse(&["nothing"], FTRACE, KPROBES), Hooked::default());
    }
}
