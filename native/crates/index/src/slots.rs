//! A fixed array of atomics, on the heap or on pages of a chosen kind.
//!
//! A table of many megabytes that is looked up at random costs a miss of the TLB per look-up on
//! pages of 4 KiB. Loom's atomics are more than words and live on the heap.

use core::ops::Deref;
use core::ptr::NonNull;

use assay_primitives::smaps::Mapped;
use assay_primitives::{Arena, PageMode, PrimitiveError};

/// The array. It does not grow, and its items stay where they are.
pub struct Slots<T> {
    items: NonNull<[T]>,
    /// The pages of the items; none on the heap.
    pages: Option<Arena>,
}

// SAFETY: a `Slots` owns its items, as a box does.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: as above; shared, it gives shared references only.
unsafe impl<T: Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// On the heap.
    pub fn on_heap(count: usize, item: impl Fn() -> T) -> Self {
        let items: Box<[T]> = (0..count).map(|_| item()).collect();
        Self { items: NonNull::from(Box::leak(items)), pages: None }
    }

    /// On pages of one kind, of which there are whole ones.
    ///
    /// # Errors
    /// When the host does not give them.
    #[cfg(not(feature = "loom"))]
    pub fn on_pages(
        count: usize,
        item: impl Fn() -> T,
        mode: PageMode,
    ) -> Result<Self, PrimitiveError> {
        const { assert!(!core::mem::needs_drop::<T>(), "items on pages are not dropped") };
        let too_many = || PrimitiveError::Missing {
            what: format!("an index of {count} slots is larger than the address space"),
            next: "give the index a smaller capacity".to_owned(),
        };
        let bytes = count.checked_mul(size_of::<T>()).filter(|it| *it <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(too_many)?;
        let arena = Arena::new(bytes, mode)?;
        let first = arena.carve(bytes, align_of::<T>()).ok_or_else(too_many)?.cast::<T>();
        for place in 0..count {
            // SAFETY: the arena gave `count` items of memory, aligned for them, to nobody else.
            unsafe { first.add(place).write(item()) };
        }
        Ok(Self { items: NonNull::slice_from_raw_parts(first, count), pages: Some(arena) })
    }

    /// On the heap: loom's atomics own memory of their own.
    #[cfg(feature = "loom")]
    pub fn on_pages(
        count: usize,
        item: impl Fn() -> T,
        _: PageMode,
    ) -> Result<Self, PrimitiveError> {
        Ok(Self::on_heap(count, item))
    }

    /// What the kernel gave; nothing for the heap.
    pub fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        self.pages.as_ref().map_or(Ok(Mapped::default()), Arena::obtained)
    }
}

impl<T> Deref for Slots<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the items are initialised, and kept until this value is dropped.
        unsafe { self.items.as_ref() }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if self.pages.is_none() {
            // SAFETY: without pages the items came from a box, which nobody has taken back.
            drop(unsafe { Box::from_raw(self.items.as_ptr()) });
        }
    }
}
