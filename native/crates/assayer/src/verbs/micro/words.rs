//! Words in an arena: one for all threads, or one for each, two cache lines apart.

use core::sync::atomic::AtomicU64;

use assay_primitives::atomics::Cell;
use assay_primitives::{Arena, PageMode};

use crate::failure::Failure;
use crate::protocol::request::Locks;

/// A type whose all-zero bytes are its start.
///
/// # Safety
/// The bytes of zeroed memory are a valid value.
pub unsafe trait Zeroed: Sync {}

// SAFETY: an atomic and a number, both zero.
unsafe impl Zeroed for Cell {}
// SAFETY: an atomic, zero.
unsafe impl Zeroed for Apart {}

/// A word on cache lines of its own.
#[repr(align(128))]
pub struct Apart(pub AtomicU64);

/// One value or one a thread, in memory of the chosen pages.
pub struct Words<T> {
    base: *mut T,
    count: usize,
    arena: Arena,
}

// SAFETY: only shared references to Sync values are handed out, and exclusive ones to the owner.
unsafe impl<T: Zeroed> Sync for Words<T> {}

impl<T: Zeroed> Words<T> {
    /// Lays out zeroed values.
    pub fn new(words: Locks, threads: usize, pages: PageMode) -> Result<Self, Failure> {
        let count = if words == Locks::Each { threads } else { 1 };
        let bytes = count * size_of::<T>();
        let arena = Arena::new(bytes + align_of::<T>(), pages)?;
        let memory = arena.carve(bytes, align_of::<T>());
        let memory = memory.ok_or_else(|| anyhow::anyhow!("the arena has no room for {bytes}"))?;
        Ok(Self { base: memory.as_ptr().cast(), count, arena })
    }

    /// The value that a thread uses.
    pub fn of(&self, thread: usize) -> &T {
        let index = if self.count == 1 { 0 } else { thread };
        assert!(index < self.count, "word {index} of {}", self.count);
        // SAFETY: `new` carved `count` zeroed, aligned values, which live as long as the arena.
        unsafe { &*self.base.add(index) }
    }

    /// All values, when no thread uses them any more.
    pub fn all_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the exclusive borrow says that no reference is left.
        unsafe { core::slice::from_raw_parts_mut(self.base, self.count) }
    }

    /// The memory that they lie in.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
}
