//! A page that was found, as only its cache can say.

use core::ptr::NonNull;

use crate::PageId;

/// A page that was found and stays in its frame until it is given back with `release`.
///
/// It belongs to the cache that gave it. Dropping it without a release pins the page for ever.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a pinned page must be released"]
pub struct Pinned {
    frame: NonNull<u8>,
    page: PageId,
    place: u32,
}

// SAFETY: a pin is a number and an address; it belongs to no thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// The one way to a pin.
    ///
    /// # Safety
    /// The page is in this frame, and the cache that calls keeps it there until this pin is released.
    #[inline(always)]
    pub(crate) unsafe fn new(frame: NonNull<u8>, page: PageId, place: u32) -> Self {
        Self { frame, page, place }
    }

    /// The memory of the page.
    #[inline(always)]
    pub fn frame(&self) -> NonNull<u8> {
        self.frame
    }

    /// The number of the page.
    #[inline(always)]
    pub fn page(&self) -> PageId {
        self.page
    }

    /// Where the cache keeps it: a slot or list entry, for tests of the order of eviction.
    #[inline(always)]
    pub fn place(&self) -> u32 {
        self.place
    }
}
