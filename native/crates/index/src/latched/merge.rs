//! Merges of the latched tree.

use assay_primitives::{LockContext, RawLock};

use super::{Held, LatchedTree, tokens};
use crate::arena::ROOT;
use crate::node::Pair;
use crate::{Caller, NodeChange, NodeSet};

impl<L: RawLock> LatchedTree<L> {
    /// Merges the leaf that covers `key`, if it is empty, and what has to be merged above it before
    /// that is possible. Leaves it when there is no room.
    #[cold]
    pub(super) fn merge(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) {
        while self.merge_once(key, caller.latches.of(), nodes) {}
    }

    /// One merge; whether another may be needed.
    fn merge_once(&self, key: u64, latches: &mut LockContext<L>, nodes: &mut NodeSet) -> bool {
        let tokens = tokens::<L>();
        let mut lowest_fork: Option<Held<'_, L>> = None;
        // SAFETY: the tokens are fresh, used once each, and outlive what borrows them.
        let mut at = unsafe { self.hold(ROOT, latches, &tokens[0]) };
        for token in &tokens[1..] {
            if at.body().is_leaf() {
                break;
            }
            // SAFETY: as above.
            let child = unsafe { self.hold(at.body().child(key), latches, token) };
            let parent = core::mem::replace(&mut at, child);
            if parent.body().is_fork() {
                lowest_fork = Some(parent);
            }
        }
        if !at.body().is_sparse() {
            return false;
        }
        // The neighbour on the left is latched before the node itself.
        drop(at);
        let Some(parent) = lowest_fork else { return false };
        let is_sparse = |id| self.nodes.get(id).is_some_and(|node| node.body.is_sparse());
        for pair in parent.body().pairs(key, is_sparse).into_iter().flatten() {
            if let Some((change, is_done)) = self.absorb(&parent, pair, latches) {
                self.nodes.give_back(pair.right);
                nodes.changed(change);
                return !is_done;
            }
        }
        false
    }

    /// Merges two children of a node, if that is right: what it changed, and whether that leaves a
    /// leaf with entries.
    fn absorb(
        &self,
        parent: &Held<'_, L>,
        pair: Pair,
        latches: &mut LockContext<L>,
    ) -> Option<(NodeChange, bool)> {
        let (left_token, right_token) = (L::Token::default(), L::Token::default());
        // SAFETY: the tokens are fresh and outlive the nodes, which are dropped here.
        let left = unsafe { self.hold(pair.left, latches, &left_token) };
        // SAFETY: as above.
        let right = unsafe { self.hold(pair.right, latches, &right_token) };
        if !left.body().can_absorb(right.body()) {
            return None;
        }
        left.body().absorb(right.body(), parent.body(), pair.place);
        // Before any latch is released: who finds the merged node also finds the other one changed.
        let absorbed = Some(right.change().was);
        let change = NodeChange { absorbed, ..left.change() };
        Some((change, left.body().is_leaf() && !left.body().is_sparse()))
    }
}
