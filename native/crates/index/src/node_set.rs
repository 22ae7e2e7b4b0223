//! Node sets: what a transaction must find unchanged so that it met no phantom.

use crate::Index;
use assay_primitives::sync::{Ordering, fence};

/// A node of an index and its version at some moment. Means something to that index only; any
/// other refuses it or takes it for a node of its own, without harm to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeVersion {
    /// Which node.
    pub node: u64,
    /// Its version.
    pub version: u64,
}

/// A node whose set of keys the caller changed itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node as it was just before.
    pub was: NodeVersion,
    /// The node that now covers the range, or the lower part of it after a split.
    pub now: NodeVersion,
    /// The node that covers the upper part, after a split.
    pub upper: Option<NodeVersion>,
    /// The node whose range `now` has taken over, as it was just before, after a merge.
    pub absorbed: Option<NodeVersion>,
}

/// The nodes of one index that a transaction depended on and changed.
///
/// A change by the transaction itself is carried over: where `seen` holds exactly the node and
/// version that the change began from, it then holds what came of it. Where it holds an older
/// version, somebody else changed the node in between; the entry stays and fails validation.
#[derive(Clone, Debug, Default)]
pub struct NodeSet {
    tracking: bool,
    seen: Vec<NodeVersion>,
    changes: Vec<NodeChange>,
}

impl NodeSet {
    /// A set that keeps what it is told.
    pub fn tracked() -> Self {
        Self { tracking: true, ..Self::default() }
    }

    /// A set that keeps nothing, for loading and for isolation levels that allow phantoms.
    pub fn untracked() -> Self {
        Self::default()
    }

    /// What was depended on, own changes carried over. The same node may be there twice.
    pub fn seen(&self) -> &[NodeVersion] {
        &self.seen
    }

    /// The caller's own changes, in their order.
    pub fn changes(&self) -> &[NodeChange] {
        &self.changes
    }

    /// Forgets everything, for the next transaction.
    pub fn clear(&mut self) {
        self.seen.clear();
        self.changes.clear();
    }

    /// Whether every node still is as it was seen.
    ///
    /// The fence makes that meaningful between two transactions of which each inserts where the
    /// other looked: without it each could miss the other's insert (store buffering). It orders
    /// against all changes that this thread made before; whoever calls [`Index::validate`]
    /// directly needs one too.
    pub fn validate(&self, index: &dyn Index) -> bool {
        fence(Ordering::SeqCst);
        self.seen.iter().all(|&seen| index.validate(seen))
    }

    #[inline]
    pub(crate) fn saw(&mut self, node: u64, version: u64) {
        if self.tracking {
            self.seen.push(NodeVersion { node, version });
        }
    }

    #[inline]
    pub(crate) fn changed(&mut self, change: NodeChange) {
        if self.tracking {
            self.carry_over(change);
        }
    }

    fn carry_over(&mut self, change: NodeChange) {
        self.changes.push(change);
        let mut depended = false;
        for seen in &mut self.seen {
            if *seen == change.was || Some(*seen) == change.absorbed {
                *seen = change.now;
                depended = true;
            }
        }
        if depended {
            self.seen.extend(change.upper);
        }
    }
}
