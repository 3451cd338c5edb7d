//! The client of the helper module.

use std::{
    fs::{File, OpenOptions},
    io,
};

use inject_common::keys::{CAN_HOLD, Count, Function, VERSION};

use super::KeysError;
use crate::sys::{self, KeysRequest};

const PATH: &str = "/dev/inject_keys";

/// The open device. The references it holds go when it is dropped, or when this process ends in whatever way.
#[derive(Debug)]
pub struct KeyDevice {
    file: File,
}

/// A function to hold the key of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedFunction {
    /// For messages.
    pub name: String,
    /// Of the function, at run time.
    pub address: u64,
    /// The key that an image names, at run time; the kernel refuses another. None: no image was asked.
    pub expected_key: Option<u64>,
}

impl KeyedFunction {
    fn request(&self) -> Function {
        Function { address: self.address, key: self.expected_key.unwrap_or(0) }
    }
}

impl KeyDevice {
    /// Opens it. None: the module is not loaded.
    ///
    /// Fails if the module can hold no keys: then it was built for another kernel than one with keys.
    pub fn open() -> Result<Option<Self>, KeysError> {
        let file = match OpenOptions::new().read(true).write(true).open(PATH) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(KeysError::Open(error)),
        };
        let version = sys::keys_version(&file).map_err(KeysError::Request)?;
        if version.version != VERSION {
            return Err(KeysError::Version { module: version.version });
        }
        if version.features & CAN_HOLD == 0 {
            return Err(KeysError::CannotHold);
        }
        Ok(Some(Self { file }))
    }

    /// References to the key of a function, of every holder and of this device. None: its calls are not guarded.
    pub fn count(&self, function: &KeyedFunction, image: &str) -> Result<Option<Count>, KeysError> {
        match sys::keys_count(&self.file, function.request()) {
            Ok(count) => Ok(Some(count)),
            Err(error) => match error.raw_os_error() {
                // Not guarded; or not listed at all, as hooks of security modules are.
                Some(libc::ENXIO | libc::ENOENT) => Ok(None),
                Some(libc::ESTALE) => Err(KeysError::Disagreement {
                    function: function.name.clone(),
                    image: image.to_owned(),
                }),
                _ => Err(KeysError::Refused { function: function.name.clone(), source: error }),
            },
        }
    }

    /// Takes a reference to the key of each function, or of none.
    pub fn hold(self, functions: Vec<KeyedFunction>) -> Result<HeldKeys, KeysError> {
        let requests: Vec<_> = functions.iter().map(KeyedFunction::request).collect();
        if !requests.is_empty() {
            sys::keys_list(&self.file, KeysRequest::Hold, &requests).map_err(
                |(source, culprit)| KeysError::Refused {
                    function: culprit
                        .map_or_else(|| "the list".to_owned(), |at| functions[at].name.clone()),
                    source,
                },
            )?;
        }
        Ok(HeldKeys { device: self, functions })
    }

    /// Gives back one of this device's references to the key of each function, or of none.
    pub fn release(&self, functions: &[KeyedFunction]) -> Result<(), KeysError> {
        let requests: Vec<_> = functions.iter().map(KeyedFunction::request).collect();
        if requests.is_empty() {
            return Ok(());
        }
        sys::keys_list(&self.file, KeysRequest::Release, &requests)
            .map_err(|(source, _)| KeysError::Request(source))
    }
}

/// References that this process holds.
#[must_use = "dropping this gives the references back"]
#[derive(Debug)]
pub struct HeldKeys {
    device: KeyDevice,
    functions: Vec<KeyedFunction>,
}

impl HeldKeys {
    /// Fails unless every key reads as on, with our reference among its count.
    pub fn verify(&self) -> Result<(), KeysError> {
        for function in &self.functions {
            let count = self.device.count(function, "")?;
            if !count.is_some_and(|count| count.held > 0 && count.count >= count.held) {
                return Err(KeysError::StillOff { function: function.name.clone() });
            }
        }
        Ok(())
    }

    /// Gives the references back and returns what every key's count is now, in the order of holding.
    pub fn release(self) -> Result<Vec<u32>, KeysError> {
        sys::keys_release_all(&self.device.file).map_err(KeysError::Request)?;
        self.functions
            .iter()
            .map(|function| Ok(self.device.count(function, "")?.map_or(0, |count| count.count)))
            .collect()
    }
}
