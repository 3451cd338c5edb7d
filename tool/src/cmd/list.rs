//! `inject list`: what can be made to fail, who calls it, and how.

use std::path::Path;

use crate::{
    cli::ListArgs,
    exit::Exit,
    image::Image,
    keys::open_running,
    listing::{self, Keep, of_image, of_running},
    running::{Running, Symbols},
};

/// Prints the list on stdout, and what could not be told on stderr.
pub fn list(arguments: &ListArgs) -> anyhow::Result<Exit> {
    let mut listing = match &arguments.image {
        Some(path) => of_image(&open(path)?)?,
        None => of_running(&Running::read()?)?,
    };
    let keep = Keep {
        patterns: arguments.patterns.clone(),
        error_type: arguments.error_type,
        keyed: arguments.keyed,
    };
    keep.apply(&mut listing.functions)?;
    for note in &listing.notes {
        eprintln!("inject: {note}");
    }
    let text = if arguments.json { listing::json(&listing)? } else { listing::text(&listing) };
    super::print(&text)
}

/// A stripped image of the kernel that runs gets its names from there.
fn open(path: &Path) -> anyhow::Result<Image<'static>> {
    let image = Image::open(path)?;
    if image.is_stripped()
        && let Ok(symbols) = Symbols::read()
        && !symbols.are_hidden()
        && let Ok((image, _)) = open_running(path, &symbols)
    {
        return Ok(image);
    }
    Ok(image)
}
