//! Scans of both trees: leaf by leaf, each copied out in one consistent moment and visited after
//! that, so that `visit` runs while nothing is locked.
//!
//! Upwards a scan goes on at the key above the leaf's last one. The link to the neighbour is a hint:
//! it is followed only to a leaf that begins with just that key, and otherwise (the neighbour was
//! merged away, and perhaps used again) the tree is descended. Downwards by a descent per leaf to
//! the key below the lowest: no link back has to be kept right.
//!
//! A leaf found by a descent may reach back to keys that were visited before, when leaves were
//! merged in between. So each leaf is asked only for what is left of the range.

use core::ops::RangeInclusive;

use crate::node::LeafCopy;
use crate::{Caller, NodeSet, Visit};

/// A leaf as a scan saw it.
pub struct SeenLeaf {
    pub node: u64,
    pub version: u64,
    pub copy: LeafCopy,
}

/// A tree that scans can read.
pub trait Leaves {
    /// The part within a range of the leaf that covers `key`.
    fn leaf_of(&self, key: u64, range: (u64, u64), caller: &mut Caller) -> SeenLeaf;

    /// The part within a range, from its begin on, of the leaf with this number; none if that is
    /// not a leaf whose lowest key is the begin of the range, or if that cannot be said.
    fn leaf_at(&self, node: u64, range: (u64, u64), caller: &mut Caller) -> Option<SeenLeaf>;
}

/// `Index::scan`.
pub fn ascending(
    tree: &impl Leaves,
    range: RangeInclusive<u64>,
    caller: &mut Caller,
    nodes: &mut NodeSet,
    visit: &mut Visit<'_>,
) {
    let (from, to) = range.into_inner();
    if from > to {
        return;
    }
    let mut leaf = tree.leaf_of(from, (from, to), caller);
    loop {
        nodes.saw(leaf.node, leaf.version);
        if !leaf.copy.entries().iter().all(|entry| visit(entry.key, entry.reference)) {
            return;
        }
        if leaf.copy.last >= to {
            return;
        }
        let from = leaf.copy.last + 1;
        let neighbour = leaf.copy.next.and_then(|next| tree.leaf_at(next, (from, to), caller));
        leaf = neighbour.unwrap_or_else(|| tree.leaf_of(from, (from, to), caller));
    }
}

/// `Index::scan_back`.
pub fn descending(
    tree: &impl Leaves,
    range: RangeInclusive<u64>,
    caller: &mut Caller,
    nodes: &mut NodeSet,
    visit: &mut Visit<'_>,
) {
    let (from, to) = range.into_inner();
    if from > to {
        return;
    }
    let mut top = to;
    loop {
        let leaf = tree.leaf_of(top, (from, top), caller);
        nodes.saw(leaf.node, leaf.version);
        if !leaf.copy.entries().iter().rev().all(|entry| visit(entry.key, entry.reference)) {
            return;
        }
        if leaf.copy.low <= from {
            return;
        }
        top = leaf.copy.low - 1;
    }
}
