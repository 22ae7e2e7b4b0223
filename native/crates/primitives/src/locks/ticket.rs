//! Tickets: each comer draws a number and enters when it is served.
//!
//! | next | serving | meaning |
//! |---|---|---|
//! | n | n | free |
//! | n | s | held by ticket s, with n - s - 1 waiting (modulo 2^32) |
//!
//! Fair to the last: when the thread whose turn it is has been descheduled, everybody waits for it.
//! With more threads than CPUs throughput falls by two orders of magnitude. That is the lesson, not
//! a defect to repair here.

use super::RawLock;
use super::sync::{AtomicU32, Ordering, relax};
use crate::arch::all::hint::Relax;

/// The lock of kind `ticket`.
#[repr(C, align(8))]
#[derive(Default)]
pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

// SAFETY: eight bytes, free at zero; a ticket is drawn by one thread only and served once, and
// `serving` is read with acquire and advanced by the holder with release.
unsafe impl RawLock for TicketLock {
    type Token = ();

    #[inline(always)]
    unsafe fn enter(&self, (): &()) -> Result<(), usize> {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        if self.serving.load(Ordering::Acquire) == ticket { Ok(()) } else { Err(ticket as usize) }
    }

    #[inline(always)]
    unsafe fn leave(&self, (): &()) {
        // Only the holder writes `serving`, so a plain load and store suffice.
        let served = self.serving.load(Ordering::Relaxed);
        self.serving.store(served.wrapping_add(1), Ordering::Release);
    }
}

/// Waits until the ticket drawn by `enter` is served.
///
/// # Safety
/// `lock` points to a live `TicketLock`; `ticket` is the number that its `enter` returned.
#[inline(always)]
pub(crate) unsafe fn ticket_slow<R: Relax>(lock: *const (), ticket: usize, _: u32) -> u64 {
    // SAFETY: the caller promises a live lock of this type.
    let lock = unsafe { &*lock.cast::<TicketLock>() };
    let mut spins = 0;
    loop {
        relax::<R>();
        spins += 1;
        if lock.serving.load(Ordering::Acquire) == ticket as u32 {
            return spins;
        }
    }
}
