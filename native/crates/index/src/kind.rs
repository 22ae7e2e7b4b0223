//! The registry: which indexes there are, and the one place that names the types.

use assay_primitives::locks::{FutexLock, McsLock, TicketLock, WordLock};
use assay_primitives::{LockKind, PageMode, PrimitiveError, RawLock};

use crate::{HashCached, HashIndex, Index, IndexError, LatchedTree, OptimisticTree};

/// The kinds of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A B+tree with a latch per node.
    Latched,
    /// A B+tree with optimistic lock coupling.
    Optimistic,
    /// A latch-free hash table.
    Hash,
}

impl IndexKind {
    /// Every kind.
    pub const ALL: [IndexKind; 3] = [IndexKind::Latched, IndexKind::Optimistic, IndexKind::Hash];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Latched => "latched",
            IndexKind::Optimistic => "optimistic",
            IndexKind::Hash => "hash",
        }
    }

    /// Whether it can be scanned.
    pub fn is_ordered(self) -> bool {
        self != IndexKind::Hash
    }
}

/// An empty index on the heap. `lock` is for latches and `capacity` (distinct keys ever) for the hash index;
/// the other kinds do not use them.
pub fn build(kind: IndexKind, lock: LockKind, capacity: usize) -> Box<dyn Index> {
    match kind {
        IndexKind::Latched => latched(lock),
        IndexKind::Optimistic => Box::new(OptimisticTree::new()),
        IndexKind::Hash => Box::new(HashIndex::new(capacity)),
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
) -> Result<Box<dyn Index>, PrimitiveError> {
    match kind {
        IndexKind::Hash => Ok(Box::new(HashIndex::on_pages(capacity, mode)?)),
        IndexKind::Latched | IndexKind::Optimistic => Ok(build(kind, lock, capacity)),
    }
}

/// An empty tree with a hash table for at least `entries` keys before it; an error for kind hash.
/// `lock` is as in [`build`].
pub fn build_cached(
    kind: IndexKind,
    lock: LockKind,
    entries: usize,
) -> Result<Box<dyn Index>, IndexError> {
    fn cached<L: RawLock>(entries: usize) -> Box<dyn Index> {
        Box::new(HashCached::new(LatchedTree::<L>::new(), entries))
    }
    Ok(match (kind, lock) {
        (IndexKind::Hash, _) => return Err(IndexError::NeedsTree),
        (IndexKind::Optimistic, _) => Box::new(HashCached::new(OptimisticTree::new(), entries)),
        (IndexKind::Latched, LockKind::Tas | LockKind::Ttas | LockKind::Backoff) => {
            cached::<WordLock>(entries)
        }
        (IndexKind::Latched, LockKind::Ticket) => cached::<TicketLock>(entries),
        (IndexKind::Latched, LockKind::Mcs) => cached::<McsLock>(entries),
        (IndexKind::Latched, LockKind::Futex) => cached::<FutexLock>(entries),
    })
}

fn latched(lock: LockKind) -> Box<dyn Index> {
    fn tree<L: RawLock>() -> Box<dyn Index> {
        Box::new(LatchedTree::<L>::new())
    }
    match lock {
        LockKind::Tas | LockKind::Ttas | LockKind::Backoff => tree::<WordLock>(),
        LockKind::Ticket => tree::<TicketLock>(),
        LockKind::Mcs => tree::<McsLock>(),
        LockKind::Futex => tree::<FutexLock>(),
    }
}

/// The run-time address of the look-up of an index that `build` makes, for a witness.
pub fn find_address(kind: IndexKind, lock: LockKind) -> usize {
    fn of<I: Index>() -> usize {
        I::find as *const () as usize
    }
    match (kind, lock) {
        (IndexKind::Optimistic, _) => of::<OptimisticTree>(),
        (IndexKind::Hash, _) => of::<HashIndex>(),
        (IndexKind::Latched, LockKind::Ticket) => of::<LatchedTree<TicketLock>>(),
        (IndexKind::Latched, LockKind::Mcs) => of::<LatchedTree<McsLock>>(),
        (IndexKind::Latched, LockKind::Futex) => of::<LatchedTree<FutexLock>>(),
        (IndexKind::Latched, _) => of::<LatchedTree<WordLock>>(),
    }
}
