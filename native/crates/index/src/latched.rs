//! A B+tree with a latch per node, coupled: the child's is taken before the parent's is released.
//!
//! Latches are exclusive, also for readers, because the locks of `assay-primitives` are: there are
//! no shared latches here. So every operation takes the root's latch, which is what optimistic lock
//! coupling was invented against and what a study can show with any kind of lock.
//!
//! Node, search and splits are the optimistic tree's: nodes met full on the way down of an insert
//! are split at once while the parent is still latched; a leaf that a removal has emptied is merged
//! with a neighbour right after, in a descent of its own. Latches are taken from the top down, and
//! under one latched parent from left to right; a node that is in no tree is latched last, while it
//! is filled, against scans that know its number from before, which hold one latch at a time. So
//! there is no deadlock. A leaf has a version beside its latch, for node sets alone.
//!
//! Source: Bayer and Schkolnick, "Concurrency of Operations on B-Trees" (Acta Informatica 9, 1977).

use core::ops::RangeInclusive;

use assay_primitives::{LockContext, RawLock};

use crate::arena::{NodeCounts, Nodes, ROOT};
use crate::node::{self, Body};
use crate::scan::{self, Leaves, SeenLeaf};
use crate::{
    Caller, Find, Index, IndexError, NO_REFERENCE, NodeChange, NodeSet, NodeVersion, Visit,
};
use assay_primitives::sync::{AtomicU64, Ordering};

mod merge;

/// More levels than any tree gets: each takes 30 times as many inserts as the one below, also when
/// most of the keys are removed again. Usually there are five at most.
const LEVELS: usize = 12;

type Node<L> = node::Node<Latch<L>>;
type Tokens<L> = [<L as RawLock>::Token; LEVELS];

/// The index of kind "latched".
pub struct LatchedTree<L> {
    nodes: Nodes<Latch<L>>,
}

/// A node's latch, and how often its set of keys changed.
pub struct Latch<L> {
    lock: L,
    version: AtomicU64,
}

impl<L: RawLock> Default for Latch<L> {
    fn default() -> Self {
        Self { lock: L::default(), version: AtomicU64::new(0) }
    }
}

/// A node whose latch is held; dropping it releases.
struct Held<'a, L: RawLock> {
    id: u64,
    node: &'a Node<L>,
    token: &'a L::Token,
}

impl<L: RawLock> Held<'_, L> {
    fn body(&self) -> &Body {
        &self.node.body
    }

    /// Nobody else writes the version while the latch is held.
    fn seen(&self) -> NodeVersion {
        NodeVersion { node: self.id, version: self.node.head.version.load(Ordering::Relaxed) }
    }

    /// Advances the version, of which others may learn before the latch is released.
    fn change(&self) -> NodeChange {
        let was = self.seen();
        let now = NodeVersion { node: self.id, version: was.version.wrapping_add(1) };
        self.node.head.version.store(now.version, Ordering::Release);
        NodeChange { was, now, upper: None, absorbed: None }
    }
}

impl<L: RawLock> Drop for Held<'_, L> {
    fn drop(&mut self) {
        // SAFETY: `hold` took the latch with this token, which is borrowed and so has not moved.
        unsafe { self.node.head.lock.leave(self.token) };
    }
}

fn tokens<L: RawLock>() -> Tokens<L> {
    core::array::from_fn(|_| L::Token::default())
}

impl<L: RawLock> LatchedTree<L> {
    /// An empty tree.
    pub fn new() -> Self {
        Self { nodes: Nodes::new() }
    }

    /// How many nodes the tree has, while nobody changes it.
    pub fn node_counts(&self) -> NodeCounts {
        self.nodes.counts()
    }

    /// Latches a node. Numbers come from nodes that were latched, so the node exists.
    ///
    /// # Safety
    /// `token` is fresh, and the result is dropped before `token` dies, not forgotten.
    unsafe fn hold<'a>(
        &'a self,
        id: u64,
        latches: &mut LockContext<L>,
        token: &'a L::Token,
    ) -> Held<'a, L> {
        let node = self.nodes.get(id).expect("links name existing nodes");
        // SAFETY: the caller's promise; `Held` borrows the token until it releases the latch.
        unsafe { latches.take(&node.head.lock, token) };
        Held { id, node, token }
    }

    /// Latches the leaf that covers a key.
    ///
    /// # Safety
    /// `tokens` are fresh, and the result is dropped before they die, not forgotten.
    unsafe fn leaf<'a>(
        &'a self,
        key: u64,
        latches: &mut LockContext<L>,
        tokens: &'a Tokens<L>,
    ) -> Held<'a, L> {
        // SAFETY: the caller's promise, here and below; each level has a token of its own.
        let mut at = unsafe { self.hold(ROOT, latches, &tokens[0]) };
        for token in &tokens[1..] {
            if at.body().is_leaf() {
                break;
            }
            // SAFETY: as above. The assignment releases the parent once the child is latched.
            at = unsafe { self.hold(at.body().child(key), latches, token) };
        }
        debug_assert!(at.body().is_leaf());
        at
    }

    /// Inserts, or splits the first full node on the way and says `None`.
    fn try_insert(
        &self,
        key: u64,
        reference: u64,
        latches: &mut LockContext<L>,
        nodes: &mut NodeSet,
    ) -> Result<Option<bool>, IndexError> {
        let tokens = tokens::<L>();
        let mut parent: Option<Held<'_, L>> = None;
        // SAFETY: the tokens are fresh, used once each, and outlive what borrows them.
        let mut at = unsafe { self.hold(ROOT, latches, &tokens[0]) };
        let mut level = 0;
        while !at.body().is_leaf() && !at.body().is_full() {
            level += 1;
            // A node with room keeps a split of its child from going further up.
            drop(parent.take());
            // SAFETY: as above.
            let child = unsafe { self.hold(at.body().child(key), latches, &tokens[level]) };
            parent = Some(core::mem::replace(&mut at, child));
        }
        if at.body().is_leaf() {
            let Err(place) = at.body().position(key) else { return Ok(Some(false)) };
            if !at.body().is_full() {
                at.body().insert_at(place, key, reference);
                nodes.changed(at.change());
                return Ok(Some(true));
            }
        }
        let change = match parent {
            Some(parent) => self.split_child(&parent, &at, latches)?,
            None => self.split_root(&at, latches)?,
        };
        nodes.changed(change);
        Ok(None)
    }

    fn split_child(
        &self,
        parent: &Held<'_, L>,
        at: &Held<'_, L>,
        latches: &mut LockContext<L>,
    ) -> Result<NodeChange, IndexError> {
        let (upper_id, _) = self.nodes.add()?;
        let token = L::Token::default();
        // SAFETY: the token is fresh and outlives the node, which is dropped here.
        let upper = unsafe { self.hold(upper_id, latches, &token) };
        at.body().split(upper.body(), upper_id, parent.body());
        Ok(NodeChange { upper: Some(upper.change().now), ..at.change() })
    }

    fn split_root(
        &self,
        root: &Held<'_, L>,
        latches: &mut LockContext<L>,
    ) -> Result<NodeChange, IndexError> {
        let (lower_id, _) = self.nodes.add()?;
        let (upper_id, _) = self.nodes.add().inspect_err(|_| self.nodes.give_back(lower_id))?;
        let (lower_token, upper_token) = (L::Token::default(), L::Token::default());
        // SAFETY: the tokens are fresh and outlive the nodes, which are dropped here.
        let lower = unsafe { self.hold(lower_id, latches, &lower_token) };
        // SAFETY: as above.
        let upper = unsafe { self.hold(upper_id, latches, &upper_token) };
        root.body().split_root((lower_id, lower.body()), (upper_id, upper.body()));
        let (now, upper) = (lower.change().now, Some(upper.change().now));
        Ok(NodeChange { now, upper, ..root.change() })
    }

    fn with_leaf<T>(
        &self,
        key: u64,
        caller: &mut Caller,
        body: impl FnOnce(&Held<'_, L>) -> T,
    ) -> T {
        let tokens = tokens::<L>();
        // SAFETY: the tokens are fresh and outlive the leaf, which is dropped here.
        let leaf = unsafe { self.leaf(key, caller.latches.of(), &tokens) };
        body(&leaf)
    }
}

impl<L: RawLock> Default for LatchedTree<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: RawLock> Leaves for LatchedTree<L> {
    fn leaf_of(&self, key: u64, range: (u64, u64), caller: &mut Caller) -> SeenLeaf {
        self.with_leaf(key, caller, |leaf| copied(leaf, range))
    }

    fn leaf_at(&self, node: u64, range: (u64, u64), caller: &mut Caller) -> Option<SeenLeaf> {
        let token = L::Token::default();
        // SAFETY: the token is fresh and outlives the leaf, which is dropped here.
        let leaf = unsafe { self.hold(node, caller.latches.of(), &token) };
        leaf.body().is_leaf_from(range.0).then(|| copied(&leaf, range))
    }
}

fn copied<L: RawLock>(leaf: &Held<'_, L>, (from, to): (u64, u64)) -> SeenLeaf {
    let NodeVersion { node, version } = leaf.seen();
    SeenLeaf { node, version, copy: leaf.body().copy(from, to) }
}

impl<L: RawLock> LatchedTree<L> {
    /// [`Index::find`].
    pub fn latched_find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        self.with_leaf(key, caller, |leaf| match leaf.body().position(key) {
            Ok(place) => Some(leaf.body().slot(place)),
            Err(_) => {
                nodes.saw(leaf.id, leaf.seen().version);
                None
            }
        })
    }
}

// SAFETY: a key and its reference are read and changed under their leaf's latch.
unsafe impl<L: RawLock> Index for LatchedTree<L> {
    fn find_function() -> Find<Self> {
        Self::latched_find
    }

    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        self.latched_find(key, caller, nodes)
    }

    fn insert(
        &self,
        key: u64,
        reference: u64,
        caller: &mut Caller,
        nodes: &mut NodeSet,
    ) -> Result<bool, IndexError> {
        assert_ne!(reference, NO_REFERENCE, "this value is not a row reference");
        loop {
            if let Some(new) = self.try_insert(key, reference, caller.latches.of(), nodes)? {
                return Ok(new);
            }
        }
    }

    fn remove(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        let (reference, is_sparse) = self.with_leaf(key, caller, |leaf| {
            let Ok(place) = leaf.body().position(key) else {
                nodes.saw(leaf.id, leaf.seen().version);
                return (None, false);
            };
            let reference = leaf.body().slot(place);
            leaf.body().remove_at(place);
            nodes.changed(leaf.change());
            (Some(reference), leaf.body().is_sparse() && leaf.id != ROOT)
        });
        if is_sparse {
            self.merge(key, caller, nodes);
        }
        reference
    }

    fn scan(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        scan::ascending(self, range, caller, nodes, visit);
        Ok(())
    }

    fn scan_back(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        scan::descending(self, range, caller, nodes, visit);
        Ok(())
    }

    fn validate(&self, seen: NodeVersion) -> bool {
        let version = |node: &Node<L>| node.head.version.load(Ordering::Acquire);
        self.nodes.get(seen.node).is_some_and(|node| version(node) == seen.version)
    }
}
