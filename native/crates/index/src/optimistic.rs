//! A B+tree with optimistic lock coupling: readers write nothing, writers lock what they change.
//!
//! A descent reads a child's number from its parent, begins reading the child, and only then checks
//! the parent: nothing can move between the two unseen. Whoever finds a change begins again at the
//! root and counts a restart. Nodes met full on the way down of an insert are split at once, so
//! that a split never goes further up than to the parent. At most three nodes are locked at a time
//! (four when the root splits), each by a compare-and-swap that fails rather than waits: there is no
//! deadlock.
//!
//! A leaf that a removal has emptied is merged with a neighbour right after, in a descent of its
//! own. The other node is dead then, and its number goes to the next split. Memory stays nodes until
//! the tree is dropped and versions only go up, so readers need no epochs: whoever still knows a
//! dead or used node by its old version begins again, and no node set that holds it is valid.
//!
//! Sources: Leis et al., DaMoN 2016; BTreeOLC of Wang et al., SIGMOD 2018 (index-microbench), with
//! the fences that weakly ordered CPUs need (see [`crate::version`]).

use core::ops::RangeInclusive;

use crate::arena::{NodeCounts, Nodes, ROOT};
use crate::caller::{Attempt, Restart};
use crate::node::{self, Body};
use crate::scan::{self, Leaves, SeenLeaf};
use crate::version::{Locked, Version};
use crate::{
    Caller, Find, Index, IndexError, NO_REFERENCE, NodeChange, NodeSet, NodeVersion, Visit,
};

mod merge;

type Node = node::Node<Version>;

/// The index of kind "optimistic".
pub struct OptimisticTree {
    nodes: Nodes<Version>,
}

/// A node whose reading has begun.
#[derive(Clone, Copy)]
struct Reading<'t> {
    id: u64,
    node: &'t Node,
    version: u64,
}

impl<'t> Reading<'t> {
    fn body(&self) -> &'t Body {
        &self.node.body
    }

    fn check(&self) -> Attempt<()> {
        self.node.head.check(self.version)
    }

    fn seen(&self) -> NodeVersion {
        NodeVersion { node: self.id, version: self.version }
    }
}

/// A node that is in no tree yet, locked: who knows its number from an earlier use begins again.
struct Unused<'t> {
    body: &'t Body,
    /// As it will be when unlocked.
    now: NodeVersion,
    _lock: Locked<'t>,
}

/// What became of an attempt to insert.
enum Step {
    Inserted(bool),
    /// A full node was split: descend again.
    Split,
}

impl OptimisticTree {
    /// An empty tree.
    pub fn new() -> Self {
        Self { nodes: Nodes::new() }
    }

    /// How many nodes the tree has, while nobody changes it.
    pub fn node_counts(&self) -> NodeCounts {
        self.nodes.counts()
    }

    #[inline(always)]
    fn begin(&self, id: u64) -> Attempt<Reading<'_>> {
        let node = self.nodes.get(id).ok_or(Restart)?;
        Ok(Reading { id, node, version: node.head.read()? })
    }

    #[inline(always)]
    fn child(&self, parent: &Reading<'_>, key: u64) -> Attempt<Reading<'_>> {
        let child = self.begin(parent.body().child(key))?;
        parent.check()?;
        Ok(child)
    }

    #[inline(always)]
    fn leaf(&self, key: u64) -> Attempt<Reading<'_>> {
        let mut at = self.begin(ROOT)?;
        while !at.body().is_leaf() {
            at = self.child(&at, key)?;
        }
        Ok(at)
    }

    fn try_insert(
        &self,
        key: u64,
        reference: u64,
        nodes: &mut NodeSet,
    ) -> Attempt<Result<Step, IndexError>> {
        let mut parent = None;
        let mut at = self.begin(ROOT)?;
        while !at.body().is_leaf() {
            if at.body().is_full() {
                return self.split(parent, at, nodes);
            }
            let child = self.child(&at, key)?;
            parent = Some(at);
            at = child;
        }
        let Err(place) = at.body().position(key) else {
            return at.check().map(|()| Ok(Step::Inserted(false)));
        };
        if at.body().is_full() {
            return self.split(parent, at, nodes);
        }
        let mut lock = at.node.head.lock(at.version)?;
        let version = lock.change();
        at.body().insert_at(place, key, reference);
        drop(lock);
        nodes.changed(changed(&at, version));
        Ok(Ok(Step::Inserted(true)))
    }

    #[cold]
    fn split(
        &self,
        parent: Option<Reading<'_>>,
        at: Reading<'_>,
        nodes: &mut NodeSet,
    ) -> Attempt<Result<Step, IndexError>> {
        let result = match parent {
            Some(parent) => self.split_child(&parent, &at)?,
            None => self.split_root(&at)?,
        };
        Ok(result.map(|change| {
            nodes.changed(change);
            Step::Split
        }))
    }

    fn unused(&self) -> Result<Unused<'_>, IndexError> {
        let (id, node) = self.nodes.add()?;
        // Nobody else locks it: a second round is for a load that lagged behind.
        loop {
            if let Ok(mut lock) = node.head.read().and_then(|version| node.head.lock(version)) {
                let now = NodeVersion { node: id, version: lock.change() };
                return Ok(Unused { body: &node.body, now, _lock: lock });
            }
        }
    }

    fn two_unused(&self) -> Result<[Unused<'_>; 2], IndexError> {
        let lower = self.unused()?;
        match self.unused() {
            Ok(upper) => Ok([lower, upper]),
            Err(error) => {
                let id = lower.now.node;
                drop(lower);
                self.nodes.give_back(id);
                Err(error)
            }
        }
    }

    fn split_child(
        &self,
        parent: &Reading<'_>,
        at: &Reading<'_>,
    ) -> Attempt<Result<NodeChange, IndexError>> {
        let mut parent_lock = parent.node.head.lock(parent.version)?;
        let mut lock = at.node.head.lock(at.version)?;
        let upper = match self.unused() {
            Ok(unused) => unused,
            Err(error) => return Ok(Err(error)),
        };
        parent_lock.change();
        let version = lock.change();
        at.body().split(upper.body, upper.now.node, parent.body());
        Ok(Ok(NodeChange { upper: Some(upper.now), ..changed(at, version) }))
    }

    fn split_root(&self, root: &Reading<'_>) -> Attempt<Result<NodeChange, IndexError>> {
        let mut lock = root.node.head.lock(root.version)?;
        let [lower, upper] = match self.two_unused() {
            Ok(unused) => unused,
            Err(error) => return Ok(Err(error)),
        };
        lock.change();
        root.body().split_root((lower.now.node, lower.body), (upper.now.node, upper.body));
        let (now, upper) = (lower.now, Some(upper.now));
        Ok(Ok(NodeChange { was: root.seen(), now, upper, absorbed: None }))
    }

    /// The reference removed, and whether the leaf should now be merged.
    fn try_remove(&self, key: u64, nodes: &mut NodeSet) -> Attempt<(Option<u64>, bool)> {
        let leaf = self.leaf(key)?;
        let Ok(place) = leaf.body().position(key) else {
            leaf.check()?;
            nodes.saw(leaf.id, leaf.version);
            return Ok((None, false));
        };
        let mut lock = leaf.node.head.lock(leaf.version)?;
        let version = lock.change();
        let reference = leaf.body().slot(place);
        leaf.body().remove_at(place);
        let is_sparse = leaf.body().is_sparse() && leaf.id != ROOT;
        drop(lock);
        nodes.changed(changed(&leaf, version));
        Ok((Some(reference), is_sparse))
    }
}

fn changed(at: &Reading<'_>, version: u64) -> NodeChange {
    let now = NodeVersion { node: at.id, version };
    NodeChange { was: at.seen(), now, upper: None, absorbed: None }
}

impl Default for OptimisticTree {
    fn default() -> Self {
        Self::new()
    }
}

impl Leaves for OptimisticTree {
    fn leaf_of(&self, key: u64, (from, to): (u64, u64), caller: &mut Caller) -> SeenLeaf {
        caller.retry(|| copied(self.leaf(key)?, from, to))
    }

    fn leaf_at(&self, node: u64, (from, to): (u64, u64), _: &mut Caller) -> Option<SeenLeaf> {
        let leaf = self.begin(node).ok()?;
        let is_right = leaf.body().is_leaf_from(from);
        is_right.then(|| copied(leaf, from, to).ok())?
    }
}

fn copied(leaf: Reading<'_>, from: u64, to: u64) -> Attempt<SeenLeaf> {
    let copy = leaf.body().copy(from, to);
    leaf.check()?;
    Ok(SeenLeaf { node: leaf.id, version: leaf.version, copy })
}

impl OptimisticTree {
    /// [`Index::find`].
    pub fn optimistic_find(
        &self,
        key: u64,
        caller: &mut Caller,
        nodes: &mut NodeSet,
    ) -> Option<u64> {
        caller.retry(|| {
            let leaf = self.leaf(key)?;
            let found = leaf.body().position(key).ok().map(|place| leaf.body().slot(place));
            leaf.check()?;
            if found.is_none() {
                nodes.saw(leaf.id, leaf.version);
            }
            Ok(found)
        })
    }
}

// SAFETY: a key and its reference are changed under their leaf's lock, and what was read counts only if
// the leaf's version says that nobody did.
unsafe impl Index for OptimisticTree {
    fn find_function() -> Find<Self> {
        Self::optimistic_find
    }

    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        self.optimistic_find(key, caller, nodes)
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
            if let Step::Inserted(new) = caller.retry(|| self.try_insert(key, reference, nodes))? {
                return Ok(new);
            }
        }
    }

    fn remove(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        let (reference, is_sparse) = caller.retry(|| self.try_remove(key, nodes));
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
        self.nodes.get(seen.node).is_some_and(|node| node.head.is(seen.version))
    }
}
