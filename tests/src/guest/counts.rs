//! Counts of keys, asked often: names are looked up once.

use anyhow::{Context as _, ensure};
use inject::{
    keys::{KeyDevice, KeyedFunction},
    running::Symbols,
};

use super::state::address_among;

/// The helper, and some functions.
pub struct Counts {
    device: KeyDevice,
    functions: Vec<KeyedFunction>,
}

impl Counts {
    /// Of these functions, in this order.
    pub fn of(functions: &[&str]) -> anyhow::Result<Self> {
        let symbols = Symbols::read()?;
        let function = |name: &&str| {
            let address = address_among(&symbols, name)?;
            Ok(KeyedFunction { name: (*name).to_owned(), address, expected_key: None })
        };
        let functions = functions.iter().map(function).collect::<anyhow::Result<_>>()?;
        Ok(Self { device: KeyDevice::open()?.context("there is no helper")?, functions })
    }

    /// At this moment.
    pub fn now(&self) -> anyhow::Result<Vec<u32>> {
        let count = |function: &KeyedFunction| {
            let count = self.device.count(function, "")?;
            Ok(count.with_context(|| format!("{} has no key", function.name))?.count)
        };
        self.functions.iter().map(count).collect()
    }

    /// Fails unless they are these.
    pub fn expect(&self, expected: &[u32], when: &str) -> anyhow::Result<()> {
        let now = self.now()?;
        ensure!(now == expected, "{when}: the counts are {now:?} instead of {expected:?}");
        Ok(())
    }
}
