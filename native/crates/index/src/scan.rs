//! Scans of both trees: leaf by leaf, each copied out in one consistent moment and visited after
//! that, so that `visit` runs while nothing is locked.
//!
//! Upwards by the link to the neighbour, which stays right because a leaf's lower bound never
//! changes. Downwards by a descent per leaf to the key below that bound: no link back has to be
//! kept right.

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

    /// The part within a range of the leaf with this number, which a leaf's link named.
    fn leaf_at(&self, node: u64, range: (u64, u64), caller: &mut Caller) -> SeenLeaf;
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
        let Some(next) = leaf.copy.next else { return };
        leaf = tree.leaf_at(next, (from, to), caller);
        if leaf.copy.low > to {
            return;
        }
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
        let leaf = tree.leaf_of(top, (from, to), caller);
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
