//! Locks side by side with a stride chosen at run time.
//!
//! The stride is the subject: at 8 bytes eight locks share a cache line and threads that use
//! different locks still disturb each other; at 64 they do not, and at 128 not even through the
//! adjacent-line prefetcher (crossbeam-rs/crossbeam#331). It is a run-time number rather than a
//! type so that padding does not multiply the compiled variants.

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::RawLock;
use crate::Arena;

/// A number of locks at equal distances.
pub struct LockTable<L> {
    _arena: Arena,
    base: NonNull<u8>,
    count: usize,
    stride: usize,
    locks: PhantomData<L>,
}

/// Locks start on a boundary that no prefetcher crosses, so that the stride alone decides sharing.
const TABLE_ALIGNMENT: usize = 128;

impl<L: RawLock> LockTable<L> {
    const SHAPE: () =
        assert!(cfg!(feature = "loom") || size_of::<L>() == 8 && align_of::<L>() == 8);

    /// The memory that a table of `count` locks takes from an arena.
    pub fn bytes(count: usize, padding: usize) -> usize {
        count * Self::stride_of(padding) + TABLE_ALIGNMENT
    }

    fn stride_of(padding: usize) -> usize {
        padding.max(size_of::<L>()).next_multiple_of(align_of::<L>())
    }

    /// Lays `count` free locks into the arena; `padding` 0 puts them side by side. `None` when the
    /// arena is full.
    pub fn new(arena: &Arena, count: usize, padding: usize) -> Option<Self> {
        let () = Self::SHAPE;
        let stride = Self::stride_of(padding);
        let base = arena.carve(count * stride, TABLE_ALIGNMENT)?;
        Some(Self { _arena: arena.clone(), base, count, stride, locks: PhantomData })
    }

    /// One lock.
    pub fn lock(&self, index: usize) -> &L {
        assert!(index < self.count, "lock {index} of {}", self.count);
        // SAFETY: just checked.
        unsafe { self.lock_unchecked(index) }
    }

    /// One lock, for who has compared the index with something else already.
    ///
    /// # Safety
    /// `index` is below [`count`](Self::count).
    #[inline(always)]
    pub unsafe fn lock_unchecked(&self, index: usize) -> &L {
        debug_assert!(index < self.count);
        // SAFETY: `new` reserved `count` strides of zeroed memory, zero is a free lock, and the arena
        // is this table's too.
        unsafe { &*self.base.as_ptr().add(index * self.stride).cast::<L>() }
    }

    /// How many locks there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance between two neighbours, from their real addresses; 0 if there is only one.
    pub fn measured_stride_bytes(&self) -> usize {
        if self.count < 2 {
            return 0;
        }
        let address = |index| core::ptr::from_ref(self.lock(index)).addr();
        address(1) - address(0)
    }
}

// SAFETY: the table only hands out shared references to locks, which are Sync.
unsafe impl<L: RawLock> Send for LockTable<L> {}
// SAFETY: as above.
unsafe impl<L: RawLock> Sync for LockTable<L> {}
