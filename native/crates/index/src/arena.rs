//! Where the nodes of a tree live: chunks that are added and never moved or freed, until the tree
//! is dropped.
//!
//! Nodes are named by number, not by address. A number read from a node that is just being changed
//! may be anything; looking it up gives some node or none, never a wild pointer, and the reader
//! finds out by the version. The look-up costs two loads from lines that are always cached.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::IndexError;
use crate::node::Node;

/// 1 MiB of nodes at a time.
#[cfg(not(loom))]
const CHUNK: u64 = 1024;
/// Loom does not see the order that `OnceLock` gives, so a model must get along with one chunk.
#[cfg(loom)]
const CHUNK: u64 = 4;
/// 4 GiB of nodes in all, some 170 million keys at usual fill.
const CHUNKS: u64 = 4096;

/// The number of the root, which stays the root for the life of the tree.
pub const ROOT: u64 = 0;

type Chunk<H> = OnceLock<Box<[Node<H>]>>;

/// All nodes of one tree.
pub struct Nodes<H> {
    chunks: Box<[Chunk<H>]>,
    used: AtomicU64,
}

impl<H: Default> Nodes<H> {
    /// The root alone: a leaf of all keys.
    pub fn new() -> Self {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        let nodes = Self { chunks, used: AtomicU64::new(ROOT) };
        let first = nodes.add();
        debug_assert_eq!(first.map(|(id, _)| id), Ok(ROOT));
        nodes
    }

    /// An unused node and its number. Nobody knows the number before the caller stores it where
    /// others look.
    pub fn add(&self) -> Result<(u64, &Node<H>), IndexError> {
        let id = self.used.fetch_add(1, Ordering::Relaxed);
        let chunk = self.chunks.get((id / CHUNK) as usize).ok_or(IndexError::Full)?;
        let nodes = chunk.get_or_init(|| (0..CHUNK).map(|_| Node::default()).collect());
        Ok((id, &nodes[(id % CHUNK) as usize]))
    }

    /// The node of this number, if there is memory for it.
    #[inline(always)]
    pub fn get(&self, id: u64) -> Option<&Node<H>> {
        let chunk = self.chunks.get((id / CHUNK) as usize)?.get()?;
        chunk.get((id % CHUNK) as usize)
    }
}

impl<H: Default> Default for Nodes<H> {
    fn default() -> Self {
        Self::new()
    }
}
