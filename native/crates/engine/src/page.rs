//! Slotted pages and the rows in them.
//!
//! A page starts with a header and a directory of row offsets; rows follow. A row starts with its
//! lock, then its key, then the length of each field, then the fields:
//!
//! | row bytes | content | guarded by |
//! |---|---|---|
//! | 0..8 | lock word | itself |
//! | 8..16 | key | written before the row is published |
//! | 16.. | field lengths, two bytes each, padded to eight | the row's lock |
//! | then | fields side by side | the row's lock |
//!
//! The directory is written before the row's id enters the index, and never changes after; the
//! index lock publishes it.

use core::marker::PhantomData;
use core::ptr::NonNull;

pub use assay_data_cache::PageId;
use assay_primitives::RawLock;

/// Where a row is: a page and a slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId(u64);

impl RowId {
    /// The row in `slot` of `page`.
    pub fn new(page: PageId, slot: u16) -> Self {
        Self(u64::from(page) << 16 | u64::from(slot))
    }

    /// The page.
    #[inline(always)]
    pub fn page(self) -> PageId {
        (self.0 >> 16) as PageId
    }

    /// The slot.
    #[inline(always)]
    pub fn slot(self) -> u16 {
        self.0 as u16
    }
}

const PAGE_BYTES_MIN: usize = 16 << 10;
/// The header holds the page's number; the rest of its bytes are room for a log sequence number.
const HEADER_BYTES: usize = 16;
const KEY_OFFSET: usize = 8;
const LENGTHS_OFFSET: usize = 16;

/// The sizes and offsets that follow from the record shape.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Fields in a record.
    pub fields: usize,
    /// Bytes in a field.
    pub field_bytes: usize,
    data_offset: usize,
    /// Bytes of a row, lock included.
    pub row_bytes: usize,
    /// Bytes of a page: 16 KiB, or what one row needs.
    pub page_bytes: usize,
    /// Rows that fit a page.
    pub rows_per_page: usize,
    rows_offset: usize,
}

impl Layout {
    /// The layout of records with `fields` fields of `field_bytes` bytes.
    pub fn new(fields: usize, field_bytes: usize) -> Self {
        let data_offset = LENGTHS_OFFSET + (2 * fields).next_multiple_of(8);
        let row_bytes = (data_offset + fields * field_bytes).next_multiple_of(8);
        let page_bytes = (row_bytes + HEADER_BYTES + 8).next_power_of_two().max(PAGE_BYTES_MIN);
        // Each row takes two bytes of directory; eight are lost to its padding at worst.
        let room = page_bytes - HEADER_BYTES - 8;
        let rows_per_page = (room / (row_bytes + 2)).max(1);
        let rows_offset = HEADER_BYTES + (2 * rows_per_page).next_multiple_of(8);
        Self { fields, field_bytes, data_offset, row_bytes, page_bytes, rows_per_page, rows_offset }
    }

    /// Bytes that a read copies: everything but the lock.
    pub fn copied_bytes(&self) -> usize {
        self.row_bytes - KEY_OFFSET
    }

    /// The key in a copied row.
    pub fn key_of(&self, copied: &[u8]) -> u64 {
        let (key, _) = copied.split_at(8);
        key.try_into().map_or(0, u64::from_le_bytes)
    }

    /// The fields of a copied row; a length that is not the declared one ends the list with `None`.
    pub fn fields_of<'a>(&'a self, copied: &'a [u8]) -> impl Iterator<Item = Option<&'a [u8]>> {
        (0..self.fields).map(move |field| {
            let at = LENGTHS_OFFSET - KEY_OFFSET + 2 * field;
            let length = usize::from(copied[at]) | usize::from(copied[at + 1]) << 8;
            let start = self.data_offset - KEY_OFFSET + field * self.field_bytes;
            (length == self.field_bytes).then(|| &copied[start..start + length])
        })
    }
}

/// A page in memory.
#[derive(Clone, Copy)]
pub struct Page(NonNull<u8>);

impl Page {
    /// Takes the memory of a page.
    ///
    /// # Safety
    /// `base` points to `Layout::page_bytes` bytes, aligned to eight, that live as long as any use
    /// of this page or of its rows.
    #[inline(always)]
    pub unsafe fn new(base: NonNull<u8>) -> Self {
        Self(base)
    }

    /// Writes the header of an empty page.
    ///
    /// # Safety
    /// Nobody else knows the page yet.
    pub unsafe fn format(self, id: PageId) {
        // SAFETY: the header lies inside the page (`new`), which nobody else uses yet.
        unsafe { self.0.cast::<PageId>().write(id) };
    }

    /// Makes room for a row.
    ///
    /// # Safety
    /// As for [`Page::row`]. Only the session that has the page open calls this, with each slot once,
    /// below `rows_per_page`.
    pub unsafe fn open_slot<'p, L: RawLock>(self, slot: u16, layout: &Layout) -> Row<'p, L> {
        let offset = layout.rows_offset + usize::from(slot) * layout.row_bytes;
        // SAFETY: the directory entry lies inside the page, and no reader looks at it before the
        // row's id is published; then the slot is open.
        unsafe {
            self.directory_entry(slot).write((offset / 8) as u16);
            self.row(slot)
        }
    }

    /// The row in a slot.
    ///
    /// # Safety
    /// The slot was opened before, with this kind of lock; the page stays where it is for `'p`.
    #[inline(always)]
    pub unsafe fn row<'p, L: RawLock>(self, slot: u16) -> Row<'p, L> {
        // SAFETY: the slot was opened, so its entry holds an offset (in units of eight bytes)
        // inside the page, and nobody writes the entry any more.
        let base = unsafe {
            let offset = usize::from(self.directory_entry(slot).read()) * 8;
            self.0.add(offset)
        };
        Row { base, lock: PhantomData }
    }

    #[inline(always)]
    unsafe fn directory_entry(self, slot: u16) -> NonNull<u16> {
        // SAFETY: the caller passes a slot below `rows_per_page`.
        unsafe { self.0.add(HEADER_BYTES).cast::<u16>().add(usize::from(slot)) }
    }
}

/// A row in memory. The methods that touch its content say who must hold its lock.
pub struct Row<'p, L> {
    base: NonNull<u8>,
    lock: PhantomData<&'p L>,
}

// By hand, because a derive would ask the same of the lock.
impl<L> Clone for Row<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Row<'_, L> {}

impl<'p, L: RawLock> Row<'p, L> {
    /// The row's lock.
    #[inline(always)]
    pub fn lock(self) -> &'p L {
        // SAFETY: a row starts with a lock word, zero (free) since the arena was mapped, and the page
        // stays where it is for `'p`.
        unsafe { self.base.cast::<L>().as_ref() }
    }

    /// Writes a whole record.
    ///
    /// # Safety
    /// The row is not published yet; each value has `Layout::field_bytes` bytes.
    pub unsafe fn fill<'v>(
        self,
        key: u64,
        values: impl Iterator<Item = &'v [u8]>,
        layout: &Layout,
    ) {
        // SAFETY: all offsets lie inside the row, which nobody else knows yet.
        unsafe {
            self.base.add(KEY_OFFSET).cast::<u64>().write(key);
            for (field, value) in values.enumerate().take(layout.fields) {
                let length = self.base.add(LENGTHS_OFFSET).cast::<u16>().add(field);
                length.write(value.len() as u16);
                self.write_bytes(field, value, layout);
            }
        }
    }

    /// Writes one field.
    ///
    /// # Safety
    /// The caller holds the row's lock.
    #[inline(always)]
    pub unsafe fn write_field(self, field: usize, value: &[u8], layout: &Layout) {
        debug_assert!(field < layout.fields && value.len() == layout.field_bytes);
        // SAFETY: the caller holds the lock; the field lies inside the row.
        unsafe { self.write_bytes(field, value, layout) };
    }

    #[inline(always)]
    unsafe fn write_bytes(self, field: usize, value: &[u8], layout: &Layout) {
        let offset = layout.data_offset + field * layout.field_bytes;
        // SAFETY: the callers pass a field of the layout and a value of the declared size.
        unsafe {
            let target = self.base.add(offset).as_ptr();
            core::ptr::copy_nonoverlapping(value.as_ptr(), target, value.len());
        }
    }

    /// Copies the record out.
    ///
    /// # Safety
    /// The caller holds the row's lock (or nobody writes), and `copy` has `copied_bytes` bytes.
    #[inline(always)]
    pub unsafe fn copy_to(self, copy: &mut [u8]) {
        // SAFETY: the row has as many bytes behind its lock as `copy` has room for.
        unsafe {
            let source = self.base.add(KEY_OFFSET).as_ptr();
            core::ptr::copy_nonoverlapping(source, copy.as_mut_ptr(), copy.len());
        }
    }
}
