//! `/proc/kallsyms`: names and addresses of the running kernel.

use super::RunningError;

const PATH: &str = "/proc/kallsyms";

/// All symbols, as the kernel printed them.
#[derive(Debug)]
pub struct Symbols {
    text: String,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// At run time, KASLR included. 0 where the reader may not know.
    pub address: u64,
    /// As nm prints it: `t` and `T` are functions, `W` and `w` weak ones.
    pub kind: char,
    /// May stand more than once.
    pub name: &'a str,
    /// None: vmlinux.
    pub module: Option<&'a str>,
}

impl Symbol<'_> {
    /// Whether it lies in a text section.
    pub fn is_function(&self) -> bool {
        matches!(self.kind, 't' | 'T' | 'w' | 'W')
    }
}

impl Symbols {
    /// Reads them.
    pub fn read() -> Result<Self, RunningError> {
        let text = std::fs::read_to_string(PATH).map_err(RunningError::read(PATH))?;
        Ok(Self { text })
    }

    /// Takes what the kernel printed.
    pub fn parse(text: String) -> Self {
        Self { text }
    }

    /// In the kernel's order. Lines that do not parse are left out.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.text.lines().filter_map(parse_line)
    }

    /// Whether there is a symbol of that name, whatever its address.
    pub fn contains(&self, name: &str) -> bool {
        self.iter().any(|symbol| symbol.name == name)
    }

    /// Every symbol of that name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Symbol<'a>> {
        self.iter().filter(move |symbol| symbol.name == name)
    }

    /// The address of the one symbol of that name outside modules; None if there is none, or if it is hidden.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.named(name)
            .find(|symbol| symbol.module.is_none())
            .map(|symbol| symbol.address)
            .filter(|address| *address != 0)
    }

    /// Whether the kernel prints zeros in the place of addresses (sysctl kernel.kptr_restrict).
    pub fn are_hidden(&self) -> bool {
        !self.iter().any(|symbol| symbol.is_function() && symbol.address != 0)
    }
}

fn parse_line(line: &str) -> Option<Symbol<'_>> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?.chars().next()?;
    let name = words.next()?;
    let module = words
        .next()
        .and_then(|word| word.strip_prefix('['))
        .and_then(|word| word.strip_suffix(']'));
    Some(Symbol { address, kind, name, module })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81234560 t open_ctree
ffffffff82000000 d kmem_cache
ffffffffc0001000 t open_ctree\t[btrfs]
nonsense
";

    #[test]
    fn names_addresses_and_modules_are_read() {
        let symbols = Symbols::parse(TEXT.to_owned());
        assert_eq!(symbols.iter().count(), 4);
        let found: Vec<_> = symbols.named("open_ctree").collect();
        assert_eq!(found[0].module, None);
        assert_eq!(found[1].module, Some("btrfs"));
        assert_eq!(found[1].address, 0xffff_ffff_c000_1000);
        assert!(found[0].is_function());
        assert_eq!(symbols.address("open_ctree"), Some(0xffff_ffff_8123_4560));
        assert_eq!(symbols.address("absent"), None);
    }

    #[test]
    fn zeros_mean_that_the_kernel_hides_its_addresses() {
        assert!(!Symbols::parse(TEXT.to_owned()).are_hidden());
        let hidden = Symbols::parse("0000000000000000 T _stext\n0000000000000000 D x\n".to_owned());
        assert!(hidden.are_hidden());
        assert!(hidden.contains("_stext"));
        assert_eq!(hidden.address("_stext"), None);
    }
}
