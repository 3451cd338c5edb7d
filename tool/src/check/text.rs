//! For people: a line a question.

use super::{Answer, Finding, Part, Report};

/// All parts, and the verdict.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for part in &report.parts {
        text.push_str(&lines(part));
    }
    text.push_str(if report.can_arrive() {
        "A fault can arrive.\n"
    } else {
        "No fault can arrive: see the lines that begin with NO.\n"
    });
    text
}

fn lines(part: &Part) -> String {
    let mut text = format!("{}\n", part.function.as_deref().unwrap_or("This machine"));
    let width = part.findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for Finding { name, answer, needed } in &part.findings {
        let (mark, said) = match answer {
            Answer::Yes(said) => ("yes", said.clone()),
            Answer::Unknown(why) => ("?", format!("cannot tell: {why}")),
            Answer::No { what, advice } => {
                (if *needed { "NO" } else { "no" }, format!("{what}; {advice}"))
            }
        };
        text.push_str(&format!("  {mark:<3}  {name:<width$}  {said}\n"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_that_matters_is_loud_and_ends_with_what_to_do() {
        let findings = vec![
            Finding::needed("rights", Answer::yes("root")),
            Finding::needed("symbols", Answer::no("all zero", "run 'sysctl x'")),
            Finding::useful("image", Answer::no("none", "copy it")),
            Finding::useful("lockdown", Answer::unknown("hidden")),
        ];
        let report = Report { parts: vec![Part { function: None, findings }] };
        assert_eq!(
            text(&report),
            "This machine\n  \
               yes  rights    root\n  \
               NO   symbols   all zero; run 'sysctl x'\n  \
               no   image     none; copy it\n  \
               ?    lockdown  cannot tell: hidden\n\n\
             No fault can arrive: see the lines that begin with NO.\n"
        );
    }
}
