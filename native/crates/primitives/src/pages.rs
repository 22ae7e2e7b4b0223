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

use crate::PrimitiveError;
use crate::smaps::{self, Mapped};

/// What kind of pages back the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageMode {
    /// Base pages, transparent huge pages forbidden (`MADV_NOHUGEPAGE`).
    Small,
    /// Transparent huge pages asked for (`MADV_HUGEPAGE`).
    Transparent,
    /// 2 MiB pages from the pool (`MAP_HUGETLB`).
    Hugetlb2m,
}

impl PageMode {
    /// Every mode.
    pub const ALL: [PageMode; 3] = [PageMode::Small, PageMode::Transparent, PageMode::Hugetlb2m];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            PageMode::Small => "4k",
            PageMode::Transparent => "thp",
            PageMode::Hugetlb2m => "hugetlb-2m",
        }
    }
}

const HUGE_BYTES: usize = 2 << 20;
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// A block of memory on pages of one kind.
#[derive(Debug)]
pub struct Arena {
    reservation: NonNull<u8>,
    reserved: usize,
    base: NonNull<u8>,
    bytes: usize,
    used: AtomicUsize,
    mode: PageMode,
}

// SAFETY: the arena hands out each byte once, by an atomic counter; it holds no thread's state.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps and touches at least `bytes`, rounded up to whole 2 MiB pages in every mode so that all
    /// modes get the same amount.
    pub fn new(bytes: usize, mode: PageMode) -> Result<Self, PrimitiveError> {
        let bytes = bytes.max(1).next_multiple_of(HUGE_BYTES);
        let arena = match mode {
            PageMode::Hugetlb2m => Self::from_pool(bytes)?,
            PageMode::Small | PageMode::Transparent => Self::from_reservation(bytes, mode)?,
        };
        arena.touch()?;
        Ok(arena)
    }

    fn from_pool(bytes: usize) -> Result<Self, PrimitiveError> {
        let huge = libc::MAP_HUGETLB | (21 << libc::MAP_HUGE_SHIFT);
        let base =
            map_anywhere(bytes, ACCESS, huge).map_err(|error| pool_too_small(bytes, error))?;
        let (reserved, mode) = (bytes, PageMode::Hugetlb2m);
        let used = AtomicUsize::new(0);
        Ok(Self { reservation: base, reserved, base, bytes, used, mode })
    }

    fn from_reservation(bytes: usize, mode: PageMode) -> Result<Self, PrimitiveError> {
        let reserved = bytes + 2 * HUGE_BYTES;
        let reservation = map_anywhere(reserved, libc::PROT_NONE, libc::MAP_NORESERVE)
            .map_err(|source| PrimitiveError::Os { call: "reserving the arena", source })?;
        // The start moves up to the next boundary, and by a whole page if it was on one already:
        // there is always a border below.
        let offset = HUGE_BYTES - reservation.as_ptr().addr() % HUGE_BYTES;
        // SAFETY: offset <= HUGE_BYTES, so [offset, offset + bytes) lies inside the reservation.
        let base = unsafe { reservation.add(offset) };
        let arena = Self { reservation, reserved, base, bytes, used: AtomicUsize::new(0), mode };
        // SAFETY: the range lies inside our own reservation, which nothing uses yet.
        if unsafe { libc::mprotect(base.as_ptr().cast(), bytes, ACCESS) } != 0 {
            return Err(PrimitiveError::last_os("mprotect of the arena"));
        }
        arena.advise()?;
        Ok(arena)
    }

    fn advise(&self) -> Result<(), PrimitiveError> {
        let advice = match self.mode {
            PageMode::Small => libc::MADV_NOHUGEPAGE,
            PageMode::Transparent => libc::MADV_HUGEPAGE,
            PageMode::Hugetlb2m => return Ok(()),
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

    fn touch(&self) -> Result<(), PrimitiveError> {
        let start: *mut libc::c_void = self.base.as_ptr().cast();
        // SAFETY: the range is our own mapping; populating it only makes its zero pages present.
        if unsafe { libc::madvise(start, self.bytes, libc::MADV_POPULATE_WRITE) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(PrimitiveError::Os { call: "touching the arena's pages", source: error });
        }
        // Kernels before 5.14 lack MADV_POPULATE_WRITE.
        for offset in (0..self.bytes).step_by(4096) {
            // SAFETY: every offset is inside the mapping, which holds only zeros so far.
            unsafe { self.base.as_ptr().add(offset).write_volatile(0) };
        }
        Ok(())
    }

    /// Hands out zeroed memory for the life of the arena; `None` when it is full. `alignment` is a
    /// power of two.
    pub fn carve(&self, bytes: usize, alignment: usize) -> Option<NonNull<u8>> {
        let place = |used: usize| {
            let start = used.next_multiple_of(alignment);
            let end = start.checked_add(bytes)?;
            (end <= self.bytes).then_some((start, end))
        };
        let next = |used| place(used).map(|(_, end)| end);
        let before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let (start, _) = place(before)?;
        // SAFETY: `place` keeps start + bytes inside the mapping.
        Some(unsafe { self.base.add(start) })
    }

    /// The size of the mapping.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What was asked for.
    pub fn mode(&self) -> PageMode {
        self.mode
    }

    /// What the kernel says about exactly this mapping now.
    pub fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        let start = self.base.as_ptr().addr();
        smaps::read(start..start + self.bytes)
            .map_err(|source| PrimitiveError::Os { call: "reading /proc/self/smaps", source })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the reservation is ours, and carved memory is not used after the arena.
        unsafe { libc::munmap(self.reservation.as_ptr().cast(), self.reserved) };
    }
}

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

fn pool_too_small(bytes: usize, error: std::io::Error) -> PrimitiveError {
    let needed = bytes / HUGE_BYTES;
    let pool = pool_count("nr_hugepages");
    let free = pool_count("free_hugepages").saturating_sub(pool_count("resv_hugepages"));
    PrimitiveError::Missing {
        what: format!(
            "pages `hugetlb-2m`: {needed} pages of 2 MiB are needed, {free} are free ({error})"
        ),
        next: format!("as root: sysctl -w vm.nr_hugepages={}", pool - free.min(pool) + needed),
    }
}

fn pool_count(name: &str) -> usize {
    let text = std::fs::read_to_string(format!("{POOL}/{name}")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}
