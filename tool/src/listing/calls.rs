//! Calls in words.

use crate::image::Calls;

/// For a cell of a table.
pub fn words(calls: &Calls) -> String {
    let (guarded, unguarded) = calls.count();
    let mut parts = Vec::new();
    if guarded > 0 {
        parts.push(format!("{guarded} guarded"));
    }
    if unguarded > 0 {
        parts.push(format!("{unguarded} unguarded"));
    }
    if calls.pointers > 0 {
        parts.push("by pointer".to_owned());
    }
    if parts.is_empty() {
        parts.push("0".to_owned());
    }
    if calls.lost() > 0 {
        parts.push(format!("{} to a clone", calls.lost()));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{Call, CloneCalls};

    fn call(guarded: bool, init: bool) -> Call {
        Call { address: 0, function: None, tail: false, guarded, init }
    }

    #[test]
    fn every_way_of_being_called_has_its_words() {
        let mut calls = Calls::default();
        assert_eq!(words(&calls), "0");
        // What only happens at boot does not count.
        calls.calls.push(call(false, true));
        assert_eq!(words(&calls), "0");
        let clone = CloneCalls { name: "f.isra.0".to_owned(), address: 0, calls: 3 };
        calls.clones = vec![clone.clone(), clone];
        assert_eq!(words(&calls), "0, 6 to a clone");
        calls.calls = vec![call(true, false), call(false, false), call(true, false)];
        calls.clones.clear();
        calls.pointers = 4;
        assert_eq!(words(&calls), "2 guarded, 1 unguarded, by pointer");
    }
}
