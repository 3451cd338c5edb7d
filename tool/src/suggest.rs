//! The nearest names to a misspelt one.

/// Up to three of `candidates` that are close to `word`, the closest first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (score(word, candidate), candidate))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|scored| scored.1);
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// Above 0 if they are close: a slip or two of the fingers, or one inside the other.
fn score(word: &str, candidate: &str) -> f64 {
    let similarity = strsim::normalized_damerau_levenshtein(word, candidate);
    if similarity >= 0.6 {
        similarity
    } else if word.len() >= 4
        && (candidate.contains(word) || candidate.ends_with(&format!("_{word}")))
    {
        0.5 * word.len() as f64 / candidate.len() as f64
    } else {
        0.0
    }
}

/// `; did you mean A, B or C?`, or nothing.
pub fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => String::new(),
        [name] => format!("; did you mean {}?", name.as_ref()),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("; did you mean {} or {}?", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] =
        ["should_failslab", "should_fail_alloc_page", "should_fail_bio", "open_ctree", "list"];

    #[test]
    fn slips_of_the_fingers_find_the_name() {
        assert_eq!(nearest("should_failslap", NAMES)[0], "should_failslab");
        assert_eq!(nearest("shuold_fail_bio", NAMES)[0], "should_fail_bio");
        assert_eq!(nearest("lst", NAMES), ["list"]);
    }

    #[test]
    fn a_part_of_a_name_finds_it() {
        assert_eq!(nearest("failslab", NAMES)[0], "should_failslab");
        assert_eq!(nearest("ctree", NAMES), ["open_ctree"]);
    }

    #[test]
    fn something_else_finds_nothing() {
        assert!(nearest("vfs_mkdir", NAMES).is_empty());
        assert!(nearest("", NAMES).is_empty());
    }

    #[test]
    fn the_question_reads_as_one() {
        assert_eq!(did_you_mean(&[] as &[&str]), "");
        assert_eq!(did_you_mean(&["a"]), "; did you mean a?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean a, b or c?");
    }
}
