//! An arena on pages of a chosen kind, touched in full before anything is measured.
//!
//! Ordinary pages are made accessible inside a larger reservation without access rights: they start
//! on a huge-page boundary, and the reserved borders keep the kernel from merging them with a
//! neighbour, so that /proc/self/smaps has a line for exactly this memory. Pages of the pool are
//! mapped by themselves: they are aligned and never merged anyway, and mapping them over a
//! reservation would, when the pool is empty, leave a hole that another thread's memory may fill
//! before it is given back. Every page is touched at creation, because
//! the first touch can take seconds where the hypervisor must find the memory, and that time
//! belongs to no arm.
//!
//! Memory is handed out once and never taken back; it is zero when handed out.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

mod granted;
pub mod memory;
mod pool;
pub mod touch;

use pool::Pool;

use crate::PrimitiveError;
use crate::named;
use crate::smaps::{self, Mapped};

named! {
    /// What kind of pages back the arena.
    pub enum PageMode {
        /// Base pages, transparent huge pages forbidden (`MADV_NOHUGEPAGE`).
        Small "4k",
        /// Transparent huge pages asked for (`MADV_HUGEPAGE`).
        Transparent "thp",
        /// Base pages, joined to huge ones after the first touch (`MADV_COLLAPSE`).
        Collapse "collapse",
        /// 2 MiB pages from the pool (`MAP_HUGETLB`).
        Hugetlb2m "hugetlb-2m",
        /// 1 GiB pages from the pool (`MAP_HUGETLB`).
        Hugetlb1g "hugetlb-1g",
    }
}

const HUGE_BYTES: usize = 2 << 20;

/// A block of memory on pages of one kind. Clones share it, and the last one unmaps it: whatever keeps a
/// pointer into it keeps a clone beside the pointer.
#[derive(Clone, Debug)]
pub struct Arena(Arc<Mapping>);

#[derive(Debug)]
struct Mapping {
    reservation: NonNull<u8>,
    reserved: usize,
    base: NonNull<u8>,
    bytes: usize,
    used: AtomicUsize,
    mode: PageMode,
}

// SAFETY: it hands out each byte once, by an atomic counter; it holds no thread's state.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Arena {
    /// Maps and touches at least `bytes`, rounded up to whole 2 MiB pages so that all modes get the
    /// same amount (`Hugetlb1g`: to whole GiB). Huge pages that were asked for and not granted, or
    /// not all of them, are an error; so is more memory than there is. The pages lie near the workers
    /// ([`touch`]).
    pub fn new(bytes: usize, mode: PageMode) -> Result<Self, PrimitiveError> {
        Self::near(bytes, mode, None)
    }

    /// The same, near the one CPU that will use it.
    pub fn near(bytes: usize, mode: PageMode, cpu: Option<usize>) -> Result<Self, PrimitiveError> {
        let mapping = if let Some(pool) = Pool::of(mode) {
            let bytes = bytes.max(1).next_multiple_of(pool.page_bytes());
            Mapping::from_pool(bytes, pool, mode)?
        } else {
            Mapping::from_reservation(bytes.max(1).next_multiple_of(HUGE_BYTES), mode)?
        };
        mapping.touch(cpu)?;
        if mode == PageMode::Collapse {
            mapping.collapse()?;
        }
        let arena = Self(Arc::new(mapping));
        granted::check(mode, &arena.obtained()?)?;
        Ok(arena)
    }

    /// Hands out zeroed memory, which lives as long as a clone of the arena; `None` when it is full.
    /// `alignment` is a power of two.
    pub fn carve(&self, bytes: usize, alignment: usize) -> Option<NonNull<u8>> {
        let place = |used: usize| {
            let start = used.next_multiple_of(alignment);
            let end = start.checked_add(bytes)?;
            (end <= self.0.bytes).then_some((start, end))
        };
        let next = |used| place(used).map(|(_, end)| end);
        let before = self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let (start, _) = place(before)?;
        // SAFETY: `place` keeps start + bytes inside the mapping.
        Some(unsafe { self.0.base.add(start) })
    }

    /// The size of the mapping.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// What was asked for.
    pub fn mode(&self) -> PageMode {
        self.0.mode
    }

    /// What the kernel says about exactly this mapping now.
    pub fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        let start = self.0.base.as_ptr().addr();
        smaps::read(start..start + self.0.bytes)
            .map_err(|source| PrimitiveError::Os { call: "reading /proc/self/smaps", source })
    }
}

impl Mapping {
    fn from_pool(bytes: usize, pool: Pool, mode: PageMode) -> Result<Self, PrimitiveError> {
        let base = map_anywhere(bytes, ACCESS, pool.flags())
            .map_err(|error| pool.too_small(bytes, mode, error))?;
        let reserved = bytes;
        let used = AtomicUsize::new(0);
        Ok(Self { reservation: base, reserved, base, bytes, used, mode })
    }

    fn from_reservation(bytes: usize, mode: PageMode) -> Result<Self, PrimitiveError> {
        memory::require(bytes)?;
        let reserved = bytes + 2 * HUGE_BYTES;
        let reservation = map_anywhere(reserved, libc::PROT_NONE, libc::MAP_NORESERVE)
            .map_err(|source| PrimitiveError::Os { call: "reserving the arena", source })?;
        // The start moves up to the next boundary, and by a whole page if it was on one already:
        // there is always a border below.
        let offset = HUGE_BYTES - reservation.as_ptr().addr() % HUGE_BYTES;
        // SAFETY: offset <= HUGE_BYTES, so [offset, offset + bytes) lies inside the reservation.
        let base = unsafe { reservation.add(offset) };
        let mapping = Self { reservation, reserved, base, bytes, used: AtomicUsize::new(0), mode };
        // SAFETY: the range lies inside our own reservation, which nothing uses yet.
        if unsafe { libc::mprotect(base.as_ptr().cast(), bytes, ACCESS) } != 0 {
            return Err(PrimitiveError::last_os("mprotect of the arena"));
        }
        mapping.advise()?;
        Ok(mapping)
    }

    fn advise(&self) -> Result<(), PrimitiveError> {
        let advice = match self.mode {
            PageMode::Small => libc::MADV_NOHUGEPAGE,
            PageMode::Transparent => libc::MADV_HUGEPAGE,
            PageMode::Collapse | PageMode::Hugetlb2m | PageMode::Hugetlb1g => return Ok(()),
        };
        // SAFETY: the range is our own fresh mapping; the advice changes no content.
        if unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, advice) } == 0 {
            return Ok(());
        }
        self.advice_refused()
    }

    /// A kernel without transparent huge pages refuses both kinds of advice. Then small pages are
    /// all there is, which is what `Small` asks for.
    fn advice_refused(&self) -> Result<(), PrimitiveError> {
        if self.mode == PageMode::Small {
            return Ok(());
        }
        Err(PrimitiveError::Missing {
            what: format!("pages `thp`: madvise refused: {}", std::io::Error::last_os_error()),
            next: "use a kernel with transparent huge pages, or pages `4k`".to_owned(),
        })
    }

    fn touch(&self, near: Option<usize>) -> Result<(), PrimitiveError> {
        let stretch = Pool::of(self.mode).map_or(HUGE_BYTES, Pool::page_bytes);
        // SAFETY: the range is our own fresh mapping, whole stretches that nothing uses yet.
        unsafe { touch::touch(self.base.as_ptr(), self.bytes, stretch, &touch::cpus(near)) }
    }

    /// Joins the touched base pages to huge ones, now, whatever the system's setting.
    fn collapse(&self) -> Result<(), PrimitiveError> {
        // SAFETY: the range is our own mapping; joining its pages changes no content.
        let done = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, MADV_COLLAPSE) };
        if done == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        let next = if error.raw_os_error() == Some(libc::EINVAL) {
            "use Linux 6.1 or newer, built with transparent huge pages; or pages `thp`"
        } else {
            "free memory, or `echo 1 > /proc/sys/vm/compact_memory` as root, and try again"
        };
        Err(PrimitiveError::Missing {
            what: format!(
                "pages `collapse`: MADV_COLLAPSE of {} bytes refused: {error}",
                self.bytes
            ),
            next: next.to_owned(),
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the reservation is ours, and whoever uses carved memory holds the arena.
        unsafe { libc::munmap(self.reservation.as_ptr().cast(), self.reserved) };
    }
}

/// From linux/mman.h; newer than the C library's headers.
const MADV_COLLAPSE: libc::c_int = 25;
const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

fn map_anywhere(
    bytes: usize,
    rights: libc::c_int,
    more: libc::c_int,
) -> std::io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | more;
    // SAFETY: an anonymous mapping at an address of the kernel's choice disturbs nothing.
    let got = unsafe { libc::mmap(core::ptr::null_mut(), bytes, rights, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    NonNull::new(got.cast()).ok_or_else(std::io::Error::last_os_error)
}
