//! Memory orders: a store, a load or a read-modify-write under each order that is legal for it.
//!
//! What an order costs differs between CPUs: on x86-64 only the sequentially consistent store is
//! another instruction (`xchg`), on aarch64 acquiring and releasing are. `relaxed` is here for
//! counters; a lock must never be relaxed and has no such choice.
//!
//! Each is a function of its own, `assay_order_OPERATION_ORDER`, with the loop inside.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::named;

named! {
    /// The order that an access asks for.
    pub enum Order {
        /// None beyond the access itself.
        Relaxed "relaxed",
        /// A load acquires, a store releases, a read-modify-write does both.
        AcqRel "acq-rel",
        /// One order of all such accesses that every thread agrees on.
        SeqCst "seq-cst",
    }
}

named! {
    /// The access, once an operation.
    pub enum Access {
        /// Numbers are stored.
        Store "store",
        /// The number is loaded.
        Load "load",
        /// One is added.
        Rmw "rmw",
    }
}

/// Accesses a word so many times, and returns what it read, summed up.
pub type Function = unsafe extern "C" fn(word: *const AtomicU64, times: u64) -> u64;

/// The function of an access under an order.
pub fn function(access: Access, order: Order) -> Function {
    match (access, order) {
        (Access::Store, Order::Relaxed) => assay_order_store_relaxed,
        (Access::Store, Order::AcqRel) => assay_order_store_release,
        (Access::Store, Order::SeqCst) => assay_order_store_seq_cst,
        (Access::Load, Order::Relaxed) => assay_order_load_relaxed,
        (Access::Load, Order::AcqRel) => assay_order_load_acquire,
        (Access::Load, Order::SeqCst) => assay_order_load_seq_cst,
        (Access::Rmw, Order::Relaxed) => assay_order_rmw_relaxed,
        (Access::Rmw, Order::AcqRel) => assay_order_rmw_acq_rel,
        (Access::Rmw, Order::SeqCst) => assay_order_rmw_seq_cst,
    }
}

#[inline(always)]
fn store(word: &AtomicU64, number: u64, order: Ordering) -> u64 {
    word.store(number, order);
    number
}

#[inline(always)]
fn load(word: &AtomicU64, _: u64, order: Ordering) -> u64 {
    word.load(order)
}

#[inline(always)]
fn rmw(word: &AtomicU64, _: u64, order: Ordering) -> u64 {
    word.fetch_add(1, order)
}

macro_rules! order_functions {
    ($($symbol:ident = $access:ident $order:ident;)+) => {$(
        /// Accesses the word `times` times.
        ///
        /// # Safety
        /// `word` points to a live word.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub unsafe extern "C" fn $symbol(word: *const AtomicU64, times: u64) -> u64 {
            // SAFETY: the caller promises a live word.
            let word = unsafe { &*word };
            let sum = |sum: u64, number| sum.wrapping_add($access(word, number, Ordering::$order));
            (1..=times).fold(0, sum)
        }
    )+};
}

order_functions! {
    assay_order_store_relaxed = store Relaxed;
    assay_order_store_release = store Release;
    assay_order_store_seq_cst = store SeqCst;
    assay_order_load_relaxed = load Relaxed;
    assay_order_load_acquire = load Acquire;
    assay_order_load_seq_cst = load SeqCst;
    assay_order_rmw_relaxed = rmw Relaxed;
    assay_order_rmw_acq_rel = rmw AcqRel;
    assay_order_rmw_seq_cst = rmw SeqCst;
}
