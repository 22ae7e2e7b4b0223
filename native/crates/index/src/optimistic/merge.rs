//! Merges of the optimistic tree.

use super::{OptimisticTree, Reading, changed};
use crate::arena::ROOT;
use crate::caller::{Attempt, Restart};
use crate::node::Pair;
use crate::{Caller, NodeChange, NodeSet};

/// Failed attempts in all before an empty leaf is left to a later merge. Each failed because of a
/// change next to it, so it takes a crowd.
const ATTEMPTS: u32 = 64;

impl OptimisticTree {
    /// Merges the leaf that covers `key`, if it is empty, and what has to be merged above it before
    /// that is possible. Gives up under contention, or when there is no room.
    #[cold]
    pub(super) fn merge(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) {
        let mut failed = 0;
        while failed < ATTEMPTS {
            match self.try_merge(key, nodes) {
                Ok(true) => {}
                Ok(false) => return,
                Err(Restart) => {
                    caller.wait_to_restart(failed);
                    failed += 1;
                }
            }
        }
    }

    /// One merge; whether another may be needed.
    fn try_merge(&self, key: u64, nodes: &mut NodeSet) -> Attempt<bool> {
        let mut lowest_fork = None;
        let mut at = self.begin(ROOT)?;
        while !at.body().is_leaf() {
            let is_fork = at.body().is_fork();
            let child = self.child(&at, key)?;
            if is_fork {
                lowest_fork = Some((at, child));
            }
            at = child;
        }
        let is_sparse = at.body().is_sparse();
        at.check()?;
        // Below the lowest fork, every node on the way has one child.
        let Some((parent, top)) = lowest_fork.filter(|_| is_sparse) else { return Ok(false) };
        let mut parent_lock = parent.node.head.lock(parent.version)?;
        top.check()?;
        let is_sparse = |id| self.nodes.get(id).is_some_and(|node| node.body.is_sparse());
        for pair in parent.body().pairs(key, is_sparse).into_iter().flatten() {
            if let Some((change, is_done)) = self.absorb(&parent, pair)? {
                parent_lock.change();
                drop(parent_lock);
                self.nodes.give_back(pair.right);
                nodes.changed(change);
                return Ok(!is_done);
            }
        }
        Ok(false)
    }

    /// Merges two children of a node that is locked, if that is right: what it changed, and whether
    /// that leaves a leaf with entries.
    fn absorb(&self, parent: &Reading<'_>, pair: Pair) -> Attempt<Option<(NodeChange, bool)>> {
        let (left, right) = (self.begin(pair.left)?, self.begin(pair.right)?);
        let mut left_lock = left.node.head.lock(left.version)?;
        let mut right_lock = right.node.head.lock(right.version)?;
        if !left.body().can_absorb(right.body()) {
            return Ok(None);
        }
        let version = left_lock.change();
        right_lock.change();
        left.body().absorb(right.body(), parent.body(), pair.place);
        let change = NodeChange { absorbed: Some(right.seen()), ..changed(&left, version) };
        Ok(Some((change, left.body().is_leaf() && !left.body().is_sparse())))
    }
}
