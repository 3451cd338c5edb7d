//! A file tree in memory, written as a newc cpio archive: the format of an initramfs.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context as _, Result};
use cpio::newc;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;

struct Node {
    /// File type and permissions, as in `st_mode`.
    mode: u32,
    content: Vec<u8>,
}

/// Paths are relative to the root, without a leading slash. Everything belongs to root.
#[derive(Default)]
pub struct Tree {
    /// Sorted, so that a folder stands before what is in it, as the kernel wants it.
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    pub fn dir(&mut self, path: &str, mode: u32) {
        self.parents(path);
        self.put(path, DIRECTORY | mode, Vec::new());
    }

    pub fn file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.parents(path);
        self.put(path, REGULAR | mode, content.into());
    }

    pub fn link(&mut self, path: &str, to: &str) {
        self.parents(path);
        self.put(path, SYMLINK | 0o777, to.as_bytes().to_vec());
    }

    fn put(&mut self, path: &str, mode: u32, content: Vec<u8>) {
        self.nodes.insert(path.to_owned(), Node { mode, content });
    }

    fn parents(&mut self, path: &str) {
        for (slash, _) in path.match_indices('/') {
            let parent = &path[..slash];
            self.nodes
                .entry(parent.to_owned())
                .or_insert_with(|| Node { mode: DIRECTORY | 0o755, content: Vec::new() });
        }
    }

    pub fn write(&self, mut out: impl Write) -> Result<()> {
        for (inode, (path, node)) in (1..).zip(&self.nodes) {
            let size = u32::try_from(node.content.len())
                .with_context(|| format!("{path} is too big for cpio"))?;
            let header = newc::Builder::new(path).ino(inode).mode(node.mode).nlink(1);
            let mut entry = header.write(&mut out, size);
            entry.write_all(&node.content)?;
            entry.finish()?;
        }
        newc::trailer(out)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_archive_holds_folders_before_their_files() {
        let mut tree = Tree::default();
        tree.file("bin/tool", 0o755, "abc");
        tree.link("bin/alias", "tool");
        tree.dir("tmp", 0o1777);
        let mut archive = Vec::new();
        tree.write(&mut archive).unwrap();

        let mut rest = archive.as_slice();
        let mut found = Vec::new();
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            found.push((reader.entry().name().to_owned(), reader.entry().mode(), content));
            rest = reader.finish().unwrap();
        }
        let expected = [
            ("bin", 0o040_755, ""),
            ("bin/alias", 0o120_777, "tool"),
            ("bin/tool", 0o100_755, "abc"),
            ("tmp", 0o041_777, ""),
        ];
        assert_eq!(
            found,
            expected.map(|(name, mode, content)| (name.to_owned(), mode, content.to_owned()))
        );
    }
}
