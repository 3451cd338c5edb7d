//! For programs. The schema is in docs/json.md: fields are added, never changed, within a version.

use serde::Serialize;

use super::{Answer, Finding, Part, Report};

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    version: u32,
    can_arrive: bool,
    parts: Vec<PartJson<'r>>,
}

#[derive(Serialize)]
struct PartJson<'r> {
    function: Option<&'r str>,
    fine: bool,
    findings: Vec<FindingJson<'r>>,
}

#[derive(Serialize)]
struct FindingJson<'r> {
    name: &'r str,
    answer: &'static str,
    needed: bool,
    text: &'r str,
    advice: Option<&'r str>,
}

/// The report as one document.
pub fn json(report: &Report) -> serde_json::Result<String> {
    let document = Document {
        schema: "inject-check",
        version: VERSION,
        can_arrive: report.can_arrive(),
        parts: report.parts.iter().map(part).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn part(part: &Part) -> PartJson<'_> {
    PartJson {
        function: part.function.as_deref(),
        fine: part.is_fine(),
        findings: part.findings.iter().map(finding).collect(),
    }
}

fn finding(Finding { name, answer, needed }: &Finding) -> FindingJson<'_> {
    let (word, text, advice) = match answer {
        Answer::Yes(text) => ("yes", text, None),
        Answer::No { what, advice } => ("no", what, Some(advice.as_str())),
        Answer::Unknown(why) => ("unknown", why, None),
    };
    FindingJson { name, answer: word, needed: *needed, text, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What docs/json.md promises.
    #[test]
    fn the_document_is_the_one_that_is_described() {
        let findings = vec![Finding::needed("key", Answer::no("off", "load it"))];
        let report = Report { parts: vec![Part { function: Some("f".to_owned()), findings }] };
        let value: serde_json::Value = serde_json::from_str(&json(&report).unwrap()).unwrap();
        let expected = serde_json::json!({
            "schema": "inject-check",
            "version": 1,
            "can_arrive": false,
            "parts": [{
                "function": "f",
                "fine": false,
                "findings": [{
                    "name": "key", "answer": "no", "needed": true, "text": "off", "advice": "load it",
                }],
            }],
        });
        assert_eq!(value, expected);
    }
}
