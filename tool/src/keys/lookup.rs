//! Function to key, from the two witnesses: the kernel through its helper, and its image.

use std::path::Path;

use super::{KeyDevice, KeyedFunction, KeysError, Witness};
use crate::running::{Symbols, online_image};

/// What is known of the calls to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionKey {
    /// No key guards them.
    None,
    /// A key does.
    Guarded {
        /// Its symbol, if an image tells.
        name: Option<String>,
        /// At run time, if an image tells.
        address: Option<u64>,
        /// References at the time of asking, if the helper tells.
        count: Option<u32>,
    },
    /// This kernel has keys, and nobody tells which function has one.
    Unknown,
}

/// Who can be asked.
#[derive(Debug)]
pub struct KeyKnowledge {
    /// Whether this kernel has keys at all.
    keyed: bool,
    device: Option<KeyDevice>,
    witness: Option<Witness>,
}

impl KeyKnowledge {
    /// Gathers the witnesses.
    ///
    /// An image that was given has to be the right one, wherever it is needed. One that was only found lying around
    /// counts if it is right, and is passed over if the helper answers without it.
    pub fn gather(symbols: &Symbols, given: Option<&Path>) -> Result<Self, KeysError> {
        // A function of the key patches' lib/error-inject.c; the series of June 2024 has keys, but not this.
        let keyed = symbols.contains("injection_key_hold");
        if !keyed {
            return Ok(Self { keyed, device: None, witness: None });
        }
        let device = KeyDevice::open()?;
        let witness = match given {
            Some(path) => Some(Witness::open(path, symbols)?),
            None => match online_image().map(|path| Witness::open(&path, symbols)) {
                Some(Ok(witness)) => Some(witness),
                Some(Err(error)) if device.is_none() => return Err(error.into()),
                Some(Err(error)) => {
                    log::info!("{error}; going by the helper alone");
                    None
                }
                None => None,
            },
        };
        Ok(Self { keyed, device, witness })
    }

    /// What is known of a function, by its address at run time.
    pub fn of(&self, name: &str, address: u64) -> Result<FunctionKey, KeysError> {
        if !self.keyed {
            return Ok(FunctionKey::None);
        }
        let witness = self.witness.as_ref().filter(|witness| witness.knows(address));
        let from_image = witness.map(|witness| witness.key(address));
        let image = self.witness.as_ref().map_or("", Witness::path);
        let image_key = from_image.flatten();
        let Some(device) = &self.device else {
            return Ok(match (from_image, image_key) {
                (None, _) => FunctionKey::Unknown,
                (Some(_), None) => FunctionKey::None,
                (Some(_), Some(key)) => FunctionKey::Guarded {
                    name: Some(key.name.clone()),
                    address: Some(key.address),
                    count: None,
                },
            });
        };
        let function = KeyedFunction {
            name: name.to_owned(),
            address,
            expected_key: image_key.map(|key| key.address),
        };
        let disagreement =
            || KeysError::Disagreement { function: name.to_owned(), image: image.to_owned() };
        match (device.count(&function, image)?, from_image, image_key) {
            (None, _, None) => Ok(FunctionKey::None),
            (None, _, Some(_)) | (Some(_), Some(None), None) => Err(disagreement()),
            (Some(count), _, key) => Ok(FunctionKey::Guarded {
                name: key.map(|key| key.name.clone()),
                address: key.map(|key| key.address),
                count: Some(count.count),
            }),
        }
    }

    /// Whether the helper is there to hold keys.
    pub fn can_hold(&self) -> bool {
        self.device.is_some()
    }

    /// A second handle on the helper, whose references are its own.
    pub fn open_device(&self) -> Result<KeyDevice, KeysError> {
        KeyDevice::open()?.ok_or(KeysError::HelperMissing)
    }

    /// The errors that stand in the way of injecting into a function with that key.
    pub fn require(&self, function: &str, key: &FunctionKey) -> Result<(), KeysError> {
        match key {
            FunctionKey::None => Ok(()),
            FunctionKey::Guarded { .. } if self.can_hold() => Ok(()),
            FunctionKey::Guarded { name, .. } => Err(KeysError::HelperMissingFor {
                function: function.to_owned(),
                key: name.clone().unwrap_or_else(|| "?".to_owned()),
            }),
            FunctionKey::Unknown => Err(KeysError::NobodyKnows),
        }
    }
}
