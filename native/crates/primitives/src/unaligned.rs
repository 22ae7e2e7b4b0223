//! Eight-byte loads at addresses that are aligned, or not, or cross a line or a page.

use crate::Arena;
use crate::arch::all::launder::launder;
use crate::named;

named! {
    /// Where a load of eight bytes lies.
    pub enum Alignment {
        /// On a multiple of eight.
        Aligned "aligned",
        /// One byte beside it, in one cache line of 64 bytes.
        WithinLine "within-line",
        /// Half in one line of 64 bytes, half in the next.
        AcrossLine "across-line",
        /// Half in one page of 4 KiB, half in the next.
        AcrossPage "across-page",
    }
}

const PAGE_BYTES: usize = 4096;
/// Few, so that lines at one offset of each page fit one set of the cache.
const PAGES: usize = 4;

impl Alignment {
    /// The offset in a page of 4 KiB.
    pub fn offset(self) -> usize {
        match self {
            Alignment::Aligned => 2048,
            Alignment::WithinLine => 2049,
            Alignment::AcrossLine => 2048 + 60,
            Alignment::AcrossPage => PAGE_BYTES - 4,
        }
    }
}

/// Pages to load from; every byte holds its number in its page, modulo 251.
#[derive(Debug)]
pub struct Pages {
    _arena: Arena,
    base: core::ptr::NonNull<u8>,
}

// SAFETY: the pages are written once, before they are shared.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// The memory that pages take from an arena.
    pub const BYTES: usize = (PAGES + 2) * PAGE_BYTES;

    /// Lays pages into the arena; `None` when it is full.
    pub fn new(arena: &Arena) -> Option<Self> {
        let bytes = (PAGES + 1) * PAGE_BYTES;
        let base = arena.carve(bytes, PAGE_BYTES)?;
        // SAFETY: the arena handed out these zeroed bytes to nobody else.
        let all = unsafe { core::slice::from_raw_parts_mut(base.as_ptr(), bytes) };
        for (number, byte) in all.iter_mut().enumerate() {
            *byte = (number % PAGE_BYTES % 251) as u8;
        }
        Some(Self { _arena: arena.clone(), base })
    }

    /// The address of the first load.
    pub fn start(&self, alignment: Alignment) -> *const u8 {
        self.base.as_ptr().wrapping_add(alignment.offset())
    }

    /// What any loading must sum up to.
    pub fn expected(alignment: Alignment, times: u64) -> u64 {
        let byte = |at: usize| ((alignment.offset() + at) % PAGE_BYTES % 251) as u8;
        let word = u64::from_le_bytes(core::array::from_fn(byte));
        word.wrapping_mul(times)
    }
}

/// The type of [`assay_unaligned_load`].
pub type Function = unsafe extern "C" fn(*const u8, u64) -> u64;

/// Loads eight bytes `times` times, in turn from each of the pages, and returns their sum.
///
/// # Safety
/// `start` came from `Pages::start`, and the pages are alive.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_unaligned_load(start: *const u8, times: u64) -> u64 {
    let mut sum = 0u64;
    for load in 0..times {
        let place = start.wrapping_add(load as usize % PAGES * PAGE_BYTES);
        // SAFETY: the caller promises that loads at this offset of each page lie inside.
        let word = unsafe { launder(place).cast::<u64>().read_unaligned() };
        sum = sum.wrapping_add(u64::from_le(word));
    }
    sum
}
