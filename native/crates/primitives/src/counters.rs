//! Counters at a distance chosen at run time: what threads that share nothing but a cache line cost
//! each other (false sharing).

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::Arena;

/// Where the first counter lies: on a boundary that no prefetcher crosses, of the largest stride.
pub const ALIGNMENT: usize = 256;

/// A number of counters at equal distances, all zero.
#[derive(Debug)]
pub struct Counters {
    _arena: Arena,
    base: NonNull<u8>,
    count: usize,
    stride: usize,
}

impl Counters {
    /// The memory that `count` counters take from an arena.
    pub fn bytes(count: usize, stride: usize) -> usize {
        count * stride + ALIGNMENT
    }

    /// Lays counters into the arena; `stride` is a multiple of eight. `None` when it is full.
    pub fn new(arena: &Arena, count: usize, stride: usize) -> Option<Self> {
        assert!(stride >= 8 && stride.is_multiple_of(8), "a stride of {stride} bytes");
        let base = arena.carve(count * stride, ALIGNMENT)?;
        Some(Self { _arena: arena.clone(), base, count, stride })
    }

    /// One counter.
    pub fn counter(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.count, "counter {index} of {}", self.count);
        // SAFETY: `new` reserved `count` strides of zeroed, aligned memory of an arena that is this
        // table's too.
        unsafe { &*self.base.as_ptr().add(index * self.stride).cast() }
    }

    /// The distance between the first two, from their real addresses; 0 if there is only one.
    pub fn measured_stride_bytes(&self) -> usize {
        if self.count < 2 {
            return 0;
        }
        let address = |index| core::ptr::from_ref(self.counter(index)).addr();
        address(1) - address(0)
    }

    /// All counters together.
    pub fn sum(&self) -> u64 {
        (0..self.count).map(|index| self.counter(index).load(Ordering::Relaxed)).sum()
    }
}

// SAFETY: the table only hands out shared references to atomics.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

/// The type of [`assay_counters_add`].
pub type Function = unsafe extern "C" fn(*const AtomicU64, u64);

/// Adds one to a counter, `times` times, by a relaxed atomic addition.
///
/// # Safety
/// `counter` points to a live word.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_counters_add(counter: *const AtomicU64, times: u64) {
    // SAFETY: the caller promises a live word.
    let counter = unsafe { &*counter };
    for _ in 0..times {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
