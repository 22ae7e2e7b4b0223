//! Indexes for many threads: from a `u64` key to a `u64` row reference that they do not look into.
//!
//! | kind | type | order | readers | writers |
//! |---|---|---|---|---|
//! | latched | [`LatchedTree`] | yes | one exclusive latch per node, coupled | the same |
//! | optimistic | [`OptimisticTree`] | yes | write nothing, check versions | lock the nodes they change |
//! | hash | [`HashIndex`] | no | write nothing | compare-and-swap |
//!
//! Before either tree can stand [`HashCached`], a small hash of the keys looked up last.
//!
//! Both trees use the same node, the same search and the same splits ([`node`]); the protocol is
//! the only difference, so that a comparison compares protocols.
//!
//! **Phantoms.** A look-up that misses and a scan depend on keys that are not there. They report
//! the nodes (tree leaves, hash segments) that would have held such keys with the versions they
//! had, and every change of a node's set of keys changes its version: the node set of Silo (Tu et
//! al., "Speedy Transactions in Multicore In-Memory Databases", SOSP 2013). See [`NodeSet`].
//!
//! Sources: Leis, Scheibner, Kemper, Neumann, "The ART of Practical Synchronization" (DaMoN 2016)
//! for optimistic lock coupling; Wang et al., "Building a Bw-Tree Takes More Than Just Buzz Words"
//! (SIGMOD 2018) and its BTreeOLC for the tree; Boehm, "Can Seqlocks Get Along with Programming
//! Language Memory Models?" (MSPC 2012) for the fences.
//!
//! Not here: rows, transactions, durability, variable-length keys, giving memory back before the
//! index is dropped.

pub mod arena;
mod built;
pub mod caller;
pub mod hash;
pub mod hash_cache;
pub mod kind;
pub mod latched;
pub mod node;
pub mod node_set;
pub mod optimistic;
mod prefetch;
mod scan;
mod slots;
pub mod version;

use core::ops::RangeInclusive;

pub use arena::NodeCounts;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, PrimitiveError};
pub use built::BuiltIndex;
pub use caller::{CacheCounts, Caller};
pub use hash::HashIndex;
pub use hash_cache::HashCached;
pub use kind::{IndexKind, build, build_cached, build_on_pages};
pub use latched::LatchedTree;
pub use node_set::{NodeChange, NodeSet, NodeVersion};
pub use optimistic::OptimisticTree;
pub use prefetch::prefetch;

/// What an index cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A scan was asked of an index without order.
    #[error("a hash index has no order to scan in: choose a tree for this table")]
    Unordered,
    /// A hash table before an index that is one.
    #[error("a hash cache needs a tree behind it: choose latched or optimistic for this table")]
    NeedsTree,
    /// There is no memory left for another key.
    #[error("the index is full: build it with a larger capacity")]
    Full,
}

/// What a scan does with each key and reference; false ends the scan.
pub type Visit<'a> = dyn FnMut(u64, u64) -> bool + 'a;

/// The one value that is not a row reference; all others are.
pub const NO_REFERENCE: u64 = u64::MAX;

/// How keys of an index are looked up.
pub type Find<I> = fn(&I, u64, &mut Caller, &mut NodeSet) -> Option<u64>;

/// A map from keys to row references that many threads use at once.
///
/// Each call is atomic by itself (a scan: each node of it). Anything beyond is the business of
/// concurrency control, with the node sets that the calls fill. `caller` is the calling thread's
/// own; `nodes` belongs to its transaction and to this one index.
///
/// # Safety
/// `find`, `remove` and the visits give a reference with a key only if it was inserted under that key and
/// not removed before the call: references may be addresses.
pub unsafe trait Index: Send + Sync {
    /// [`Index::find`] of this type as a function of its own, for who calls it through a
    /// [`Called`](assay_primitives::Called) and reports it.
    fn find_function() -> Find<Self>
    where
        Self: Sized;

    /// The reference of a key. A miss reports the node that would hold the key.
    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64>;

    /// Adds a key; false, and nothing changed, if it is there already. Reports the nodes that it
    /// changed, also those it split before it found the index full. `reference` is not
    /// [`NO_REFERENCE`].
    fn insert(
        &self,
        key: u64,
        reference: u64,
        caller: &mut Caller,
        nodes: &mut NodeSet,
    ) -> Result<bool, IndexError>;

    /// Takes a key out and returns its reference. Reports the node that it changed, or, when the
    /// key is not there, the node that would hold it.
    fn remove(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64>;

    /// Visits the keys of a range in ascending order, until `visit` says false. Reports each node
    /// before the keys in it are visited. Nothing is locked during `visit`.
    fn scan(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError>;

    /// As `scan`, in descending order.
    fn scan_back(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError>;

    /// Every key with its reference, in whatever order is cheap, while nobody changes the index.
    fn each(&self, caller: &mut Caller, visit: &mut dyn FnMut(u64, u64)) {
        let mut all = |key, reference| {
            visit(key, reference);
            true
        };
        let scanned = self.scan(0..=u64::MAX, caller, &mut NodeSet::untracked(), &mut all);
        debug_assert!(scanned.is_ok(), "an index without order visits its keys in its own way");
    }

    /// Whether the node still holds the set of keys that it held. May say no without need, never
    /// yes without reason. See [`NodeSet::validate`] for the fence that must come before.
    fn validate(&self, seen: NodeVersion) -> bool;

    /// What the kernel gave to the mappings of this index alone; nothing for what is on the heap.
    ///
    /// # Errors
    /// When the kernel's report cannot be read.
    fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        Ok(Mapped::default())
    }

    /// The look-up of what lies behind this index, where [`Index::find`] does not always reach it.
    fn look_up_behind(&self) -> Option<Address> {
        None
    }

    /// Asks for the memory where a key will be looked up soon, where that is known beforehand.
    fn prefetch(&self, _key: u64) {}

    /// What [`Index::find`] would probably say, where that costs less than it; for fetching ahead
    /// only. A tree has nothing to say: to descend twice costs more than it saves.
    fn peek(&self, _key: u64) -> Option<u64> {
        None
    }
}
