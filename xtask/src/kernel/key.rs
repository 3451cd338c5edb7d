//! The name under which a built kernel is kept: a hash of everything that goes into it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::list::Spec;
use crate::paths::Paths;
use crate::run::output;

/// Raise this when the way kernels are built or trimmed changes, so that kernels of the old way are not used.
const RECIPE: u32 = 1;

/// Everything that decides what the kernel becomes.
struct Ingredients {
    recipe: u32,
    tarball: blake3::Hash,
    patches: Vec<Vec<u8>>,
    config: Vec<Vec<u8>>,
    compiler: String,
    pahole: String,
}

/// The hash for this kernel with the tools of this machine. The source package, gcc and pahole must be there.
pub fn key(paths: &Paths, spec: &Spec) -> Result<String> {
    let read =
        |file: &Path| fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let tarball = spec.tarball();
    let file =
        File::open(&tarball).with_context(|| format!("cannot read {}", tarball.display()))?;
    let ingredients = Ingredients {
        recipe: RECIPE,
        tarball: blake3::Hasher::new().update_reader(file)?.finalize(),
        patches: spec.patches(paths)?.iter().map(|file| read(file)).collect::<Result<_>>()?,
        config: spec.fragments(paths).iter().map(|file| read(file)).collect::<Result<_>>()?,
        compiler: output(Command::new("gcc").arg("--version"))?,
        pahole: output(Command::new("pahole").arg("--version"))?,
    };
    Ok(ingredients.key())
}

impl Ingredients {
    fn key(&self) -> String {
        let Self { recipe, tarball, patches, config, compiler, pahole } = self;
        let mut hasher = blake3::Hasher::new();
        // Each part goes in with its length: moving a byte from one to the next must change the hash.
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(&recipe.to_le_bytes());
        part(tarball.as_bytes());
        for list in [patches, config] {
            part(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|item| part(item));
        }
        part(compiler.as_bytes());
        part(pahole.as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Ingredients {
        Ingredients {
            recipe: 1,
            tarball: blake3::hash(b"tar"),
            patches: vec![b"ab".to_vec(), b"c".to_vec()],
            config: vec![b"X=y".to_vec()],
            compiler: "gcc 12".into(),
            pahole: "v1.24".into(),
        }
    }

    #[test]
    fn the_same_ingredients_give_the_same_key() {
        assert_eq!(sample().key(), sample().key());
        assert_eq!(sample().key().len(), 16);
    }

    #[test]
    fn every_ingredient_counts() {
        let changes: [fn(&mut Ingredients); 8] = [
            |i| i.recipe = 2,
            |i| i.tarball = blake3::hash(b"rat"),
            |i| i.patches.swap(0, 1),
            |i| i.patches = vec![b"a".to_vec(), b"bc".to_vec()],
            |i| i.patches.truncate(1),
            |i| i.config[0].push(b'\n'),
            |i| i.compiler.push('3'),
            |i| i.pahole.clear(),
        ];
        let mut keys = vec![sample().key()];
        for change in changes {
            let mut ingredients = sample();
            change(&mut ingredients);
            keys.push(ingredients.key());
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn a_patch_is_not_a_fragment() {
        let mut moved = sample();
        moved.config.insert(0, moved.patches.pop().unwrap());
        assert_ne!(moved.key(), sample().key());
    }
}
