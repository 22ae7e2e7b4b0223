//! An index of a kind that was chosen at run time, with the look-up that is called and reported.

use core::fmt;
use core::mem::transmute;
use core::ops::Deref;

use assay_primitives::{Address, Called};

use crate::{Caller, Find, Index, NodeSet};

/// An index on the heap. Its look-up is called through the pointer that [`BuiltIndex::look_up`]
/// reports; everything else is of the [`Index`] that it leads to.
pub struct BuiltIndex {
    index: Box<dyn Index>,
    find: Called<FindAt>,
}

type FindAt = unsafe fn(*const (), u64, &mut Caller, &mut NodeSet) -> Option<u64>;

impl BuiltIndex {
    /// Puts an index on the heap.
    pub fn new<I: Index + 'static>(index: I) -> Self {
        // SAFETY: a reference to a type of known size is passed as any pointer is, so both types of
        // function are called alike; `find` gives it nothing but this index.
        let find = unsafe { transmute::<Find<I>, FindAt>(I::find_function()) };
        Self { index: Box::new(index), find: Called::new(find) }
    }

    /// As [`Index::find`].
    #[inline(always)]
    pub fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        let index: *const dyn Index = &*self.index;
        // SAFETY: `new` made both of one type, and the index is borrowed.
        unsafe { (self.find.function())(index.cast(), key, caller, nodes) }
    }

    /// The look-up in the tree or table itself, past any hash cache before it.
    pub fn look_up(&self) -> Address {
        self.index.look_up_behind().unwrap_or_else(|| self.find.address())
    }
}

impl Deref for BuiltIndex {
    type Target = dyn Index;

    fn deref(&self) -> &(dyn Index + 'static) {
        &*self.index
    }
}

impl AsRef<dyn Index> for BuiltIndex {
    fn as_ref(&self) -> &(dyn Index + 'static) {
        &*self.index
    }
}

impl fmt::Debug for BuiltIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BuiltIndex").field("find", &self.find).finish_non_exhaustive()
    }
}
