//! Variants that compilers make of a function and call in its place.

use std::collections::HashMap;

use super::CloneCalls;
use crate::image::{Entry, Image};

/// GCC's interprocedural passes, and Clang's. `.cold` and `.llvm.` are not among them: the one is a part of the
/// function, the other its proper name.
const SUFFIXES: [&str; 5] = [".constprop.", ".isra.", ".part.", ".specialized.", ".argelim"];

/// The clones of each entry, by address, without their calls.
pub(super) fn find(image: &Image<'_>, entries: &[Entry]) -> Vec<Vec<CloneCalls>> {
    let mut clones = vec![Vec::new(); entries.len()];
    let by_name: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .flat_map(|(i, entry)| entry.names.iter().map(move |name| (name.as_str(), i)))
        .collect();
    for (address, name) in image.functions().iter(&image.file) {
        let Some(&i) = base(name).and_then(|base| by_name.get(base)) else { continue };
        clones[i].push(CloneCalls { name: name.to_owned(), address, calls: 0 });
    }
    clones
}

/// The function that a clone was made of.
fn base(name: &str) -> Option<&str> {
    let (base, _) = name.split_once('.')?;
    let is_part = name.contains(".cold");
    let is_clone = SUFFIXES.iter().any(|suffix| name[base.len()..].contains(suffix));
    (is_clone && !is_part).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_told_from_parts_and_plain_names() {
        assert_eq!(base("should_failslab.constprop.0"), Some("should_failslab"));
        assert_eq!(base("f.isra.0.constprop.3"), Some("f"));
        assert_eq!(base("f.part.0"), Some("f"));
        assert_eq!(base("f.part.0.cold"), None);
        assert_eq!(base("f.cold"), None);
        assert_eq!(base("f.llvm.123"), None);
        assert_eq!(base("f"), None);
    }
}
