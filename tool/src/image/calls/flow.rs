//! Which code can be reached, with a static key off and with it on.

use std::collections::{HashMap, HashSet};

use iced_x86::{FlowControl, Instruction};

use super::code;
use crate::image::{Image, ImageError, jump_table::Raw};

/// More instructions than this are not followed; the kernel's longest functions have some 20,000.
const MAX_INSTRUCTIONS: usize = 200_000;
/// The same for entries of a computed jump's table.
const MAX_TABLE: u64 = 1024;

/// Functions that do not come back: what stands behind a call to one is other code. The ones that compilers put behind
/// other code's back, and the most common others of `tools/objtool/noreturns.h`; one that is missing makes a call look
/// unguarded at worst.
const NO_RETURN: [&str; 10] = [
    "__stack_chk_fail",
    "panic",
    "do_exit",
    "make_task_dead",
    "rewind_stack_and_make_dead",
    "fortify_panic",
    "__fortify_panic",
    "kthread_exit",
    "usercopy_abort",
    "__ubsan_handle_builtin_unreachable",
];

/// Reachable instructions, remembered for each function and key.
pub(super) struct Flow<'i> {
    image: &'i Image<'i>,
    sites: HashMap<u64, Raw>,
    /// Those that have sites.
    keys: HashSet<u64>,
    no_return: HashSet<u64>,
    /// By the function's start, and the key that is off, if one is.
    reached: HashMap<(u64, Option<u64>), HashSet<u64>>,
}

impl<'i> Flow<'i> {
    pub(super) fn new(image: &'i Image<'_>) -> Result<Self, ImageError> {
        let sites = match image.raw_sites() {
            Ok(sites) => sites,
            // Without a jump table there are no sites.
            Err(ImageError::NoSymbol { .. } | ImageError::NotLent { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            image,
            keys: sites.iter().map(|(_, site)| site.key).collect(),
            sites: sites.into_iter().map(|(_, site)| (site.code, site)).collect(),
            no_return: NO_RETURN.iter().filter_map(|name| image.symbol(name)).collect(),
            reached: HashMap::new(),
        })
    }

    /// Whether the instruction at `address` runs only while `key` is on.
    pub(super) fn is_guarded(&mut self, address: u64, key: u64) -> bool {
        if !self.keys.contains(&key) {
            return false;
        }
        self.roots(address).into_iter().any(|root| {
            self.reaches(root, None, address) && !self.reaches(root, Some(key), address)
        })
    }

    /// Where a function starts that has `address` in it; more than one if it is in a cold part, whose function goes by
    /// a name that several have.
    fn roots(&self, address: u64) -> Vec<u64> {
        let functions = self.image.functions();
        let Some((name, offset)) = functions.covering(&self.image.file, address) else {
            return Vec::new();
        };
        match name.split_once(".cold") {
            None => vec![address - offset],
            Some((whole, _)) => {
                let all = functions.iter(&self.image.file);
                all.filter(|(_, name)| *name == whole).map(|(address, _)| address).collect()
            }
        }
    }

    fn reaches(&mut self, root: u64, off: Option<u64>, address: u64) -> bool {
        if !self.reached.contains_key(&(root, off)) {
            let reached = self.explore(root, off);
            self.reached.insert((root, off), reached);
        }
        self.reached[&(root, off)].contains(&address)
    }

    /// Every instruction that runs when the function at `root` is called and the key `off` is off.
    fn explore(&self, root: u64, off: Option<u64>) -> HashSet<u64> {
        let mut reached = HashSet::new();
        let mut waiting = vec![root];
        while let Some(mut at) = waiting.pop() {
            // Behind it another function starts, unless a jump leads there.
            let limit = self.image.functions().start_after(at).unwrap_or(u64::MAX);
            while at < limit && reached.len() < MAX_INSTRUCTIONS && reached.insert(at) {
                let Some(instruction) = code::decode(self.image, at) else { break };
                let next = self.follow(&instruction, root, off, &mut waiting);
                match next {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
        reached
    }

    /// Where execution goes on after an instruction; other places that it can go to are added to `waiting`.
    fn follow(
        &self,
        instruction: &Instruction,
        root: u64,
        off: Option<u64>,
        waiting: &mut Vec<u64>,
    ) -> Option<u64> {
        let next = instruction.next_ip();
        if let Some(site) = self.sites.get(&instruction.ip()) {
            // A nop or a jump, as the key will have it.
            return match (off == Some(site.key), site.jumps_when_off) {
                (true, true) => Some(site.target),
                (true, false) => Some(next),
                (false, _) => {
                    waiting.push(site.target);
                    Some(next)
                }
            };
        }
        let target = code::branch_target(instruction);
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::IndirectCall => Some(next),
            FlowControl::Call => {
                target.is_none_or(|target| !self.no_return.contains(&target)).then_some(next)
            }
            FlowControl::UnconditionalBranch => {
                waiting.extend(target.filter(|target| self.stays(*target, root)));
                None
            }
            FlowControl::ConditionalBranch => {
                waiting.extend(target.filter(|target| self.stays(*target, root)));
                Some(next)
            }
            FlowControl::IndirectBranch => {
                waiting.extend(self.table(instruction, root));
                None
            }
            // WARN() is an undefined instruction behind which things go on. BUG() is the same without that, and what
            // follows it counts as reachable.
            FlowControl::Exception => Some(next),
            // An int3 is padding.
            FlowControl::Return | FlowControl::Interrupt | FlowControl::XbeginXabortXend => None,
        }
    }

    /// Whether a jump stays within the function: it does not if it leads to the start of another.
    fn stays(&self, target: u64, root: u64) -> bool {
        let names = || self.image.functions().names_at(&self.image.file, target);
        let starts = self.image.functions().start_before(target) == Some(target);
        !starts || target == root || names().iter().any(|name| name.contains(".cold"))
    }

    /// Where a jump by a table can lead: as long as its entries point into the function.
    fn table(&self, instruction: &Instruction, root: u64) -> Vec<u64> {
        let Some(table) = code::jump_table(instruction) else { return Vec::new() };
        let functions = self.image.functions();
        let end = functions.start_after(root).unwrap_or(u64::MAX);
        (0..MAX_TABLE)
            .map_while(|i| {
                let at = table.checked_add(i * 8)?;
                let word = self.image.file.read("a table of jumps", at, 8).ok()??;
                let target = u64::from_le_bytes(*word.first_chunk()?);
                ((root..end).contains(&target)).then_some(target)
            })
            .collect()
    }
}
