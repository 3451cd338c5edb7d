//! The second witness: what the running kernel's image says of functions and keys.

use std::{collections::HashMap, path::Path};

use thiserror::Error;

use crate::{
    image::{Image, ImageError, LentSymbol},
    running::{Identity, RunningError, Symbols},
};

/// An image that is known to be the running kernel's, with addresses moved to where that kernel runs.
#[derive(Debug)]
pub struct Witness {
    path: String,
    /// Of every injectable function in the image, by the function's address.
    keys: HashMap<u64, Option<ImageKey>>,
}

/// A key, at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageKey {
    /// Of the `struct static_key`.
    pub address: u64,
    /// Its symbol.
    pub name: String,
}

/// Why an image cannot be a witness.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum WitnessError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Running(#[from] RunningError),
    #[error(
        "{image} is the image of another kernel than the one running ({what}); give the running \
         kernel's vmlinux with --image"
    )]
    OtherKernel { image: String, what: String },
    #[error(
        "{image}: the running kernel's _stext is not to be found, so neither is its KASLR slide"
    )]
    NoSlide { image: String },
}

impl Witness {
    /// Opens an image and checks that it is the running kernel's: by build id, else by banner.
    pub fn open(path: &Path, symbols: &Symbols) -> Result<Self, WitnessError> {
        let (image, slide) = open_running(path, symbols)?;
        let keys = image
            .whitelist()?
            .into_iter()
            .map(|entry| {
                let key = entry.key.map(|key| ImageKey {
                    address: key.address.wrapping_add(slide),
                    name: key.name,
                });
                (entry.address.wrapping_add(slide), key)
            })
            .collect();
        Ok(Self { path: image.name().to_owned(), keys })
    }

    /// Where it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The key of the function at that address; None: its calls are not guarded.
    pub fn key(&self, function: u64) -> Option<&ImageKey> {
        self.keys.get(&function)?.as_ref()
    }

    /// Whether the image lists the function at that address. It does not know those of modules.
    pub fn knows(&self, function: u64) -> bool {
        self.keys.contains_key(&function)
    }
}

/// Opens an image that is the running kernel's, and tells by how much that kernel moved itself.
///
/// What an image lacks in symbols it gets from the running kernel.
pub fn open_running(path: &Path, symbols: &Symbols) -> Result<(Image<'static>, u64), WitnessError> {
    let mut image = Image::open(path)?;
    check_identity(&image, &Identity::read()?)?;
    let linked = if image.is_stripped() {
        image.text_start().zip(symbols.address("_text"))
    } else {
        image.symbol("_stext").zip(symbols.address("_stext"))
    };
    let slide = linked
        .map(|(linked, running)| running.wrapping_sub(linked))
        .ok_or_else(|| WitnessError::NoSlide { image: image.name().to_owned() })?;
    if image.is_stripped() {
        // Per-CPU variables and constants do not move; they are below all code.
        let start = image.text_start().unwrap_or(0).wrapping_add(slide);
        let own =
            symbols.iter().filter(|symbol| symbol.module.is_none() && symbol.address >= start);
        image.lend_symbols(own.map(|symbol| LentSymbol {
            address: symbol.address.wrapping_sub(slide),
            kind: symbol.kind,
            name: symbol.name,
        }));
    }
    Ok((image, slide))
}

fn check_identity(image: &Image<'_>, running: &Identity) -> Result<(), WitnessError> {
    let other = |what: String| WitnessError::OtherKernel { image: image.name().to_owned(), what };
    if let (Some(image), Some(running)) = (image.build_id(), &running.build_id) {
        if image == *running {
            return Ok(());
        }
        return Err(other(format!("build ids {} and {}", short(&image), short(running))));
    }
    match image.banner() {
        Some(banner) if banner.trim_end() == running.banner => Ok(()),
        Some(banner) => Err(other(banner.trim_end().to_owned())),
        None => Err(other("it has no banner".to_owned())),
    }
}

fn short(build_id: &[u8]) -> String {
    use std::fmt::Write as _;
    build_id.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
