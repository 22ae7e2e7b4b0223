//! The registry: which indexes there are, and the one place that names the types.

use assay_primitives::{LockKind, PageMode, PrimitiveError, named, with_lock};

use crate::{BuiltIndex, HashCached, HashIndex, IndexError, LatchedTree, OptimisticTree};

named! {
    /// The kinds of index.
    pub enum IndexKind {
        /// A B+tree with a latch per node.
        Latched "latched",
        /// A B+tree with optimistic lock coupling.
        Optimistic "optimistic",
        /// A latch-free hash table.
        Hash "hash",
    }
}

impl IndexKind {
    /// Whether it can be scanned.
    pub fn is_ordered(self) -> bool {
        self != IndexKind::Hash
    }
}

/// An empty index on the heap. `lock` is for latches and `capacity` (distinct keys ever) for the hash index;
/// the other kinds do not use them.
pub fn build(kind: IndexKind, lock: LockKind, capacity: usize) -> BuiltIndex {
    match kind {
        IndexKind::Latched => with_lock!(lock, L => BuiltIndex::new(LatchedTree::<L>::new())),
        IndexKind::Optimistic => BuiltIndex::new(OptimisticTree::new()),
        IndexKind::Hash => BuiltIndex::new(HashIndex::new(capacity)),
    }
}

/// As [`build`], with the hash index on pages of one kind; trees are on the heap.
///
/// # Errors
/// When the host does not give the pages.
pub fn build_on_pages(
    kind: IndexKind,
    lock: LockKind,
    capacity: usize,
    mode: PageMode,
) -> Result<BuiltIndex, PrimitiveError> {
    match kind {
        IndexKind::Hash => Ok(BuiltIndex::new(HashIndex::on_pages(capacity, mode)?)),
        IndexKind::Latched | IndexKind::Optimistic => Ok(build(kind, lock, capacity)),
    }
}

/// An empty tree with a hash table for at least `entries` keys before it; an error for kind hash.
/// `lock` is as in [`build`].
pub fn build_cached(
    kind: IndexKind,
    lock: LockKind,
    entries: usize,
) -> Result<BuiltIndex, IndexError> {
    Ok(match kind {
        IndexKind::Hash => return Err(IndexError::NeedsTree),
        IndexKind::Optimistic => BuiltIndex::new(HashCached::new(OptimisticTree::new(), entries)),
        IndexKind::Latched => with_lock!(lock, L => {
            BuiltIndex::new(HashCached::new(LatchedTree::<L>::new(), entries))
        }),
    })
}
