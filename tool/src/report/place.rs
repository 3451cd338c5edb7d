//! Addresses of kernel code to names.

use crate::running::Symbols;

/// Functions by address.
#[derive(Debug, Default)]
pub struct Places {
    /// Sorted by address: first address, name with its module.
    functions: Vec<(u64, String)>,
}

impl Places {
    /// From the running kernel's symbols.
    pub fn new(symbols: &Symbols) -> Self {
        let mut functions: Vec<(u64, String)> = symbols
            .iter()
            .filter(|symbol| symbol.is_function() && symbol.address != 0)
            .map(|symbol| {
                let module = symbol.module.map(|module| format!(" [{module}]"));
                (symbol.address, format!("{}{}", symbol.name, module.unwrap_or_default()))
            })
            .collect();
        // Stable, so that of several names the kernel's first comes first.
        functions.sort_by_key(|(address, _)| *address);
        functions.dedup_by_key(|(address, _)| *address);
        Self { functions }
    }

    /// `name+0x1a`, or the bare address.
    pub fn name(&self, address: u64) -> String {
        let after = self.functions.partition_point(|(first, _)| *first <= address);
        match after.checked_sub(1).map(|at| &self.functions[at]) {
            Some((first, name)) => match name.split_once(' ') {
                Some((name, module)) => format!("{name}+{:#x} {module}", address - first),
                None => format!("{name}+{:#x}", address - first),
            },
            None => format!("{address:#x}"),
        }
    }

    /// A stack on one line, the innermost first, up to so many places.
    pub fn stack(&self, addresses: &[u64], most: usize) -> String {
        if addresses.is_empty() {
            return "(stack not kept)".to_owned();
        }
        let mut names: Vec<String> =
            addresses.iter().take(most).map(|address| self.name(*address)).collect();
        if addresses.len() > most {
            names.push("…".to_owned());
        }
        names.join(" < ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_by_the_function_before_it() {
        let text = "ffffffff81000100 t f\nffffffff81000000 T g\nffffffff81000100 T alias\n\
                    ffffffff82000000 d data\nffffffffc0000000 t h\t[m]\n";
        let places = Places::new(&Symbols::parse(text.to_owned()));
        assert_eq!(places.name(0xffff_ffff_8100_0000), "g+0x0");
        assert_eq!(places.name(0xffff_ffff_8100_010a), "f+0xa");
        assert_eq!(places.name(0xffff_ffff_c000_0004), "h+0x4 [m]");
        assert_eq!(places.name(0x10), "0x10");
        let stack = [0xffff_ffff_8100_010a, 0xffff_ffff_8100_0001, 0x10];
        assert_eq!(places.stack(&stack, 2), "f+0xa < g+0x1 < …");
        assert_eq!(places.stack(&[], 2), "(stack not kept)");
    }
}
