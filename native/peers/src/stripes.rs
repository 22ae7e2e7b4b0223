//! Locks by key, for stores that cannot change a part of a value in one atomic step.
//!
//! Such a store reads the record, writes one field, and puts the whole record back. Without a lock
//! two threads would lose updates; the lock is only taken when a field is less than a record.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Many more than threads, so that two seldom meet by chance.
const COUNT: usize = 256;

#[repr(align(128))]
#[derive(Debug, Default)]
struct Stripe(Mutex<()>);

/// A fixed number of locks, chosen by key.
#[derive(Debug)]
pub struct Stripes(Box<[Stripe]>);

impl Stripes {
    /// Open locks.
    pub fn new() -> Self {
        Self((0..COUNT).map(|_| Stripe::default()).collect())
    }

    /// The lock of a key, held.
    pub fn lock(&self, key: u64) -> MutexGuard<'_, ()> {
        // Keys are hashes: their low bits are as good as any.
        let stripe = &self.0[key as usize % COUNT];
        stripe.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
