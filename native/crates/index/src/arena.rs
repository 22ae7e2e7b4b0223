//! Where the nodes of a tree live: chunks that are added and never moved or freed, until the tree
//! is dropped. Nodes that were merged away are used again, as nodes.
//!
//! Nodes are named by number, not by address. A number read from a node that is just being changed
//! may be anything; looking it up gives some node or none, never a wild pointer, and the reader
//! finds out by the version. The look-up costs two loads from lines that are always cached.
//!
//! A number that is used again may still be known to readers from before. That is harmless as long
//! as a node's version only ever goes up: nothing here touches it, and who uses a node again must
//! begin from the version that the node has. Nothing here is seen by loom, which therefore checks
//! that the nodes' own locks order all that happens to a node from one use to the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::IndexError;
use crate::node::Node;

/// 1 MiB of nodes at a time.
#[cfg(not(feature = "loom"))]
const CHUNK: u64 = 1024;
/// Loom does not see the order that `OnceLock` gives, so a model must get along with one chunk.
#[cfg(feature = "loom")]
const CHUNK: u64 = 8;
/// 4 GiB of nodes in all, some 170 million keys at usual fill.
const CHUNKS: u64 = 4096;

/// The number of the root, which stays the root for the life of the tree.
pub const ROOT: u64 = 0;

/// How many nodes a tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCounts {
    /// Nodes ever made.
    pub made: u64,
    /// Of these, nodes that the tree consists of, the root among them; the others wait for use.
    pub in_use: u64,
}

type Chunk<H> = OnceLock<Box<[Node<H>]>>;

/// All nodes of one tree.
pub struct Nodes<H> {
    chunks: Box<[Chunk<H>]>,
    used: AtomicU64,
    free: Mutex<Vec<u64>>,
    /// How many are free, so that nobody takes the lock in vain. Splits are more frequent than
    /// merges.
    free_count: AtomicU64,
}

impl<H: Default> Nodes<H> {
    /// The root alone: a leaf of all keys.
    pub fn new() -> Self {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        let (used, free_count) = (AtomicU64::new(ROOT), AtomicU64::new(0));
        let nodes = Self { chunks, used, free: Mutex::default(), free_count };
        let first = nodes.add();
        debug_assert_eq!(first.map(|(id, _)| id), Ok(ROOT));
        nodes
    }

    /// An unused node and its number. Nobody finds the node before the caller stores the number
    /// where others look; but readers may know the number from an earlier use.
    pub fn add(&self) -> Result<(u64, &Node<H>), IndexError> {
        if let Some((id, node)) = self.reused().and_then(|id| Some((id, self.get(id)?))) {
            return Ok((id, node));
        }
        let id = self.used.fetch_add(1, Ordering::Relaxed);
        let chunk = self.chunks.get((id / CHUNK) as usize).ok_or(IndexError::Full)?;
        let nodes = chunk.get_or_init(|| (0..CHUNK).map(|_| Node::default()).collect());
        Ok((id, &nodes[(id % CHUNK) as usize]))
    }

    /// Takes back a node that no other node names any more, unlocked.
    pub fn give_back(&self, id: u64) {
        let mut free = self.free();
        free.push(id);
        self.free_count.store(free.len() as u64, Ordering::Relaxed);
    }

    /// How many nodes there are, while nobody changes the tree.
    pub fn counts(&self) -> NodeCounts {
        let made = self.used.load(Ordering::Relaxed).min(CHUNK * CHUNKS);
        NodeCounts { made, in_use: made - self.free().len() as u64 }
    }

    fn reused(&self) -> Option<u64> {
        if self.free_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut free = self.free();
        let id = free.pop();
        self.free_count.store(free.len() as u64, Ordering::Relaxed);
        id
    }

    fn free(&self) -> MutexGuard<'_, Vec<u64>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
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
