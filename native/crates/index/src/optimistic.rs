//! A B+tree with optimistic lock coupling: readers write nothing, writers lock what they change.
//!
//! A descent reads a child's number from its parent, begins reading the child, and only then checks
//! the parent: nothing can move between the two unseen. Whoever finds a change begins again at the
//! root and counts a restart. Nodes met full on the way down of an insert are split at once, so
//! that a split never goes further up than to the parent. At most two nodes are locked at a time,
//! each by a compare-and-swap that fails rather than waits: there is no deadlock.
//!
//! Nodes are never freed or merged while the tree lives. Leaves may become empty and stay; memory
//! goes when the tree is dropped, so readers need no epochs. A workload that moves through the keys
//! for ever (a queue) grows the tree for ever.
//!
//! Sources: Leis et al., DaMoN 2016; BTreeOLC of Wang et al., SIGMOD 2018 (index-microbench), with
//! the fences that weakly ordered CPUs need (see [`crate::version`]).

use core::ops::RangeInclusive;

use crate::arena::{Nodes, ROOT};
use crate::caller::{Attempt, Restart};
use crate::node::{self, Body};
use crate::scan::{self, Leaves, SeenLeaf};
use crate::version::Version;
use crate::{Caller, Index, IndexError, NO_REFERENCE, NodeChange, NodeSet, NodeVersion, Visit};

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

    fn split_child(
        &self,
        parent: &Reading<'_>,
        at: &Reading<'_>,
    ) -> Attempt<Result<NodeChange, IndexError>> {
        let mut parent_lock = parent.node.head.lock(parent.version)?;
        let mut lock = at.node.head.lock(at.version)?;
        let (upper_id, upper) = match self.nodes.add() {
            Ok(added) => added,
            Err(error) => return Ok(Err(error)),
        };
        parent_lock.change();
        let version = lock.change();
        at.body().split(&upper.body, upper_id, parent.body());
        Ok(Ok(NodeChange { upper: Some(unused(upper_id)), ..changed(at, version) }))
    }

    fn split_root(&self, root: &Reading<'_>) -> Attempt<Result<NodeChange, IndexError>> {
        let mut lock = root.node.head.lock(root.version)?;
        let added = self.nodes.add().and_then(|lower| Ok((lower, self.nodes.add()?)));
        let ((lower_id, lower), (upper_id, upper)) = match added {
            Ok(added) => added,
            Err(error) => return Ok(Err(error)),
        };
        lock.change();
        root.body().split_root((lower_id, &lower.body), (upper_id, &upper.body));
        Ok(Ok(NodeChange {
            was: root.seen(),
            now: unused(lower_id),
            upper: Some(unused(upper_id)),
        }))
    }

    fn try_remove(&self, key: u64, nodes: &mut NodeSet) -> Attempt<Option<u64>> {
        let leaf = self.leaf(key)?;
        let Ok(place) = leaf.body().position(key) else {
            leaf.check()?;
            nodes.saw(leaf.id, leaf.version);
            return Ok(None);
        };
        let mut lock = leaf.node.head.lock(leaf.version)?;
        let version = lock.change();
        let reference = leaf.body().slot(place);
        leaf.body().remove_at(place);
        drop(lock);
        nodes.changed(changed(&leaf, version));
        Ok(Some(reference))
    }
}

fn changed(at: &Reading<'_>, version: u64) -> NodeChange {
    NodeChange { was: at.seen(), now: NodeVersion { node: at.id, version }, upper: None }
}

/// The version of a node that has never been locked.
fn unused(node: u64) -> NodeVersion {
    NodeVersion { node, version: 0 }
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

    fn leaf_at(&self, node: u64, (from, to): (u64, u64), caller: &mut Caller) -> SeenLeaf {
        caller.retry(|| copied(self.begin(node)?, from, to))
    }
}

fn copied(leaf: Reading<'_>, from: u64, to: u64) -> Attempt<SeenLeaf> {
    let copy = leaf.body().copy(from, to);
    leaf.check()?;
    Ok(SeenLeaf { node: leaf.id, version: leaf.version, copy })
}

impl Index for OptimisticTree {
    #[inline]
    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
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
        caller.retry(|| self.try_remove(key, nodes))
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
