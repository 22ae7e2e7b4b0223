//! The queue lock of Mellor-Crummey and Scott ("Algorithms for Scalable Synchronization on
//! Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991): each waiter spins on its own node.
//!
//! | tail | meaning |
//! |---|---|
//! | null | free |
//! | a node | held; that node is the last in the queue (the holder's own when nobody waits) |
//!
//! | node.waiting | meaning |
//! |---|---|
//! | true | its thread waits |
//! | false | its predecessor has handed the lock over (or there was none) |
//!
//! The node is the token, on the stack of the acquisition. It must not move, which `LockContext::with`
//! guarantees by keeping it in place for the whole critical section.

use super::RawLock;
use super::sync::{AtomicBool, AtomicPtr, Ordering, POLLS, relax, yield_cpu};
use crate::arch::all::hint::Relax;

/// The lock of kind `mcs`.
#[repr(transparent)]
#[derive(Default)]
pub struct McsLock {
    tail: AtomicPtr<Node>,
}

/// One acquisition's place in the queue. On a cache line of its own: that is the point of MCS.
#[repr(align(64))]
#[derive(Default)]
pub struct Node {
    next: AtomicPtr<Node>,
    before: AtomicPtr<Node>,
    waiting: AtomicBool,
}

// SAFETY: eight bytes, free at null. The swap of `tail` orders all comers; each enters only when
// there was no predecessor (acquire swap) or when that one stored `waiting = false` (release).
unsafe impl RawLock for McsLock {
    type Token = Node;

    #[inline(always)]
    unsafe fn enter(&self, node: &Node) -> Result<(), usize> {
        let own = core::ptr::from_ref(node).cast_mut();
        node.waiting.store(true, Ordering::Relaxed);
        let before = self.tail.swap(own, Ordering::AcqRel);
        if before.is_null() {
            return Ok(());
        }
        node.before.store(before, Ordering::Relaxed);
        Err(own as usize)
    }

    #[inline(always)]
    unsafe fn leave(&self, node: &Node) {
        let own = core::ptr::from_ref(node).cast_mut();
        let mut next = node.next.load(Ordering::Acquire);
        if next.is_null() {
            let free = core::ptr::null_mut();
            if self.tail.compare_exchange(own, free, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            next = await_successor(node);
        }
        // SAFETY: a linked successor waits on its node until the next line releases it.
        unsafe { (*next).waiting.store(false, Ordering::Release) };
    }
}

/// A successor has swapped the tail but not linked itself yet: a few instructions, unless it was
/// descheduled just there. Without a hint, so that no arm contains one it did not ask for; it gives
/// the CPU away now and then instead.
#[cold]
#[inline(never)]
fn await_successor(node: &Node) -> *mut Node {
    loop {
        for _ in 0..POLLS {
            let next = node.next.load(Ordering::Acquire);
            if !next.is_null() {
                return next;
            }
        }
        yield_cpu();
    }
}

/// Links the node behind its predecessor and waits for the hand-over.
///
/// # Safety
/// `node` is the address that `enter` returned, and its stack frame is still in place.
#[inline(always)]
pub(crate) unsafe fn mcs_slow<R: Relax>(_: *const (), node: usize, _: u32) -> u64 {
    let own = node as *mut Node;
    // SAFETY: the caller promises that the own node is alive; the predecessor's is, because its
    // thread cannot leave before it has seen this link.
    let node = unsafe {
        let node = &*own;
        (*node.before.load(Ordering::Relaxed)).next.store(own, Ordering::Release);
        node
    };
    let mut spins = 0;
    while node.waiting.load(Ordering::Acquire) {
        relax::<R>();
        spins += 1;
    }
    spins
}
