//! Who calls an injectable function, and whether the call lies behind its static key.
//!
//! Candidates are places whose bytes could be an address of interest; they count when the code around them, decoded
//! from the start of its function, has an instruction there that calls the function, jumps to it or takes its address.
//!
//! A call is *guarded* if it can be reached from the start of its function, but no longer when every site of the key
//! goes the way that it goes while the key is off. That is the question that a user has: does the call happen while the
//! key is off? What cannot be followed (computed jumps without a table, entries from exception tables) makes a call
//! unguarded, not guarded.

mod clones;
mod code;
mod flow;
mod scan;

use std::collections::HashMap;

use super::{Entry, Image, ImageError, format::Machine};

/// What is known of the calls to a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Direct calls and jumps to the function, by address.
    pub calls: Vec<Call>,
    /// How often its address is taken, in code or in data: a table of system calls, for instance. Whoever has it may
    /// call the function.
    pub pointers: usize,
    /// Variants that the compiler made of the function. They are not injectable, and calls to them are lost.
    pub clones: Vec<CloneCalls>,
}

/// A direct call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The instruction, as linked.
    pub address: u64,
    /// The function that contains it, after inlining. None: no symbol covers it.
    pub function: Option<String>,
    /// A jump at the end of a function, in the place of a call.
    pub tail: bool,
    /// Whether it happens only while the function's key is on.
    pub guarded: bool,
    /// In code that the kernel frees after boot.
    pub init: bool,
}

/// A variant of a function, `NAME.constprop.0` or the like, that is called in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneCalls {
    /// Its symbol.
    pub name: String,
    /// As linked.
    pub address: u64,
    /// How many direct calls and jumps there are to it.
    pub calls: usize,
}

impl Calls {
    /// Calls behind the key, and others. Calls in code that runs during boot only are left out.
    pub fn count(&self) -> (usize, usize) {
        let calls = || self.calls.iter().filter(|call| !call.init);
        let guarded = calls().filter(|call| call.guarded).count();
        (guarded, calls().count() - guarded)
    }

    /// How many calls go to a clone in its place.
    pub fn lost(&self) -> usize {
        self.clones.iter().map(|clone| clone.calls).sum()
    }
}

impl Image<'_> {
    /// The calls to each of these functions, in their order. None: only code of x86-64 is read.
    ///
    /// Takes a pass over the code and one over the data.
    ///
    /// # Errors
    /// Those of [`Image::sites_of`].
    pub fn calls(&self, entries: &[Entry]) -> Result<Option<Vec<Calls>>, ImageError> {
        if self.file.machine != Machine::X86_64 {
            return Ok(None);
        }
        let mut all: Vec<Calls> = clones::find(self, entries)
            .into_iter()
            .map(|clones| Calls { clones, ..Calls::default() })
            .collect();
        // An address can be an entry's and, if the compiler merged functions, another's clone.
        let mut wanted: HashMap<u64, Vec<Wanted>> = HashMap::new();
        for (i, entry) in entries.iter().enumerate() {
            wanted.entry(entry.address).or_default().push(Wanted::Function(i));
            for (j, clone) in all[i].clones.iter().enumerate() {
                wanted.entry(clone.address).or_default().push(Wanted::Clone(i, j));
            }
        }

        let mut flow = flow::Flow::new(self)?;
        let init = self.init_range();
        for found in scan::scan(self, &wanted) {
            for &who in &wanted[&found.target] {
                match (who, found.kind) {
                    (Wanted::Function(i), scan::Kind::Pointer) => all[i].pointers += 1,
                    (Wanted::Function(i), scan::Kind::Call | scan::Kind::Jump) => {
                        let key = entries[i].key.as_ref().map(|key| key.address);
                        all[i].calls.push(Call {
                            address: found.address,
                            function: self.function_at(found.address),
                            tail: found.kind == scan::Kind::Jump,
                            guarded: key.is_some_and(|key| flow.is_guarded(found.address, key)),
                            init: self.is_init(found.address, &init),
                        });
                    }
                    (Wanted::Clone(..), scan::Kind::Pointer) => {}
                    (Wanted::Clone(i, j), _) => all[i].clones[j].calls += 1,
                }
            }
        }
        Ok(Some(all))
    }

    fn function_at(&self, address: u64) -> Option<String> {
        self.functions().covering(&self.file, address).map(|(name, _)| name.to_owned())
    }
}

/// What an address stands for.
#[derive(Clone, Copy)]
enum Wanted {
    /// An entry.
    Function(usize),
    /// An entry, and one of its clones.
    Clone(usize, usize),
}

#[cfg(test)]
mod tests;
