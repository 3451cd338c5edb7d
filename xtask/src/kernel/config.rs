//! Whether a kernel's `.config` really has what the fragments ask for. `make olddefconfig` drops in silence what
//! depends on something that is off.

use std::collections::HashSet;

/// The wishes of `fragment` that `config` does not fulfil, as they stand in the fragment.
pub fn unfulfilled<'a>(fragment: &'a str, config: &str) -> Vec<&'a str> {
    let set: HashSet<&str> = config.lines().map(str::trim).collect();
    let fulfilled = |wish: &str| match not_set(wish) {
        // An option whose dependencies are off does not appear in the file at all, and that is "not set" too.
        Some(option) => {
            let assigned = format!("{option}=");
            !config.lines().any(|line| line.starts_with(&assigned))
        }
        None => set.contains(wish),
    };
    wishes(fragment).filter(|wish| !fulfilled(wish)).collect()
}

fn wishes(fragment: &str) -> impl Iterator<Item = &str> {
    let lines = fragment.lines().map(str::trim);
    lines.filter(|line| line.starts_with("CONFIG_") || not_set(line).is_some())
}

/// `CONFIG_X` of `# CONFIG_X is not set`.
fn not_set(line: &str) -> Option<&str> {
    let option = line.strip_prefix("# ")?.strip_suffix(" is not set")?;
    option.starts_with("CONFIG_").then_some(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "CONFIG_A=y\nCONFIG_N=\"x\"\n# CONFIG_OFF is not set\nCONFIG_ABC=y\n";

    #[test]
    fn what_is_there_is_fulfilled() {
        let fragment = "# why A\nCONFIG_A=y\nCONFIG_N=\"x\"\n# CONFIG_OFF is not set\n# CONFIG_ABSENT is not set\n";
        assert!(unfulfilled(fragment, CONFIG).is_empty());
    }

    #[test]
    fn what_was_dropped_changed_or_switched_on_is_named() {
        let fragment = "CONFIG_B=y\nCONFIG_A=m\n# CONFIG_ABC is not set\n# CONFIG_AB is not set\n";
        let expected = ["CONFIG_B=y", "CONFIG_A=m", "# CONFIG_ABC is not set"];
        assert_eq!(unfulfilled(fragment, CONFIG), expected);
    }
}
