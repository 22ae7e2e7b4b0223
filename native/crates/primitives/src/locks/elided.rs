//! Lock elision: the critical section runs as a transaction that only reads the lock.
//!
//! | word | in a transaction | meaning |
//! |---|---|---|
//! | 0 | no | free |
//! | 0 | yes | elided: any number of threads are inside as long as they do not meet in the data |
//! | 1 | no | held, as `ttas`; every transaction that read the word aborts |
//!
//! Rajwar and Goodman, "Speculative Lock Elision" (MICRO 2001); the policy is that of Intel's
//! optimization manual, chapter on TSX: begin, read the lock word into the read set, abort if it is
//! held, run, commit; after an abort try again, at most so many times, while the code says that
//! this may help; then take the lock. Before a retry a thread waits until the lock looks free, or a
//! single holder would send everybody to the lock (the lemming effect).
//!
//! Only the word lock can be elided: a ticket or a queue node is *written* to enter, and two
//! threads that write the same line are never both in a transaction.
//!
//! **Counting.** Aborts are noted in the token between two transactions. The counters of the
//! `LockContext` are written inside the transaction: if it commits, so do they, and if it aborts they
//! never were.

use core::cell::Cell;
use core::marker::PhantomData;

use super::sync::relax;
use super::{RawLock, WordLock};
use crate::arch::all::hint::Relax;
use crate::arch::current::htm::Transactions;
use crate::htm::{AbortCause, AbortCode, Begun, Htm};

/// A word lock that is elided where that works. Its waiting (`Waiting::elided`) is its own.
#[repr(transparent)]
pub struct ElidedLock<H = Transactions> {
    lock: WordLock,
    transactions: PhantomData<fn() -> H>,
}

// By hand, because a derive would ask the same of the transactions.
impl<H> Default for ElidedLock<H> {
    fn default() -> Self {
        Self { lock: WordLock::default(), transactions: PhantomData }
    }
}

/// What one thread met at elided locks. Everything is 0 for other locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElisionCounts {
    /// Acquisitions that committed without taking the lock.
    pub elided: u64,
    /// Acquisitions that took the lock after all.
    pub fallbacks: u64,
    /// Aborts because another thread touched the same lines.
    pub conflicts: u64,
    /// Aborts for want of room.
    pub capacity: u64,
    /// Aborts because the lock was held.
    pub lock_held: u64,
    /// Aborts for any other reason.
    pub other: u64,
}

impl ElisionCounts {
    /// What was added since an earlier reading of the same counters.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            elided: self.elided - earlier.elided,
            fallbacks: self.fallbacks - earlier.fallbacks,
            conflicts: self.conflicts - earlier.conflicts,
            capacity: self.capacity - earlier.capacity,
            lock_held: self.lock_held - earlier.lock_held,
            other: self.other - earlier.other,
        }
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Self) {
        self.elided += other.elided;
        self.fallbacks += other.fallbacks;
        self.conflicts += other.conflicts;
        self.capacity += other.capacity;
        self.lock_held += other.lock_held;
        self.other += other.other;
    }
}

/// One acquisition: whether it is elided, and what was tried before.
#[derive(Debug, Default)]
pub struct Elision {
    is_elided: Cell<bool>,
    last: Cell<Option<AbortCode>>,
    aborts: Cell<[u32; 4]>,
}

impl Elision {
    fn note(&self, code: AbortCode) {
        let mut aborts = self.aborts.get();
        aborts[code.cause() as usize] += 1;
        self.aborts.set(aborts);
        self.last.set(Some(code));
    }

    /// Whether this acquisition runs as a transaction.
    pub fn is_elided(&self) -> bool {
        self.is_elided.get()
    }
}

impl<H: Htm> ElidedLock<H> {
    /// Enters by a transaction, or notes why not. An abort in the middle of the critical section
    /// comes out here as well, with everything undone.
    #[inline(always)]
    fn elide(&self, token: &Elision) -> bool {
        let code = match H::begin() {
            Begun::Started if self.lock.looks_free() => {
                token.is_elided.set(true);
                return true;
            }
            Begun::Started => {
                H::abort();
                // Only a model gets here.
                AbortCode::LOCK_HELD
            }
            Begun::Aborted(code) => code,
        };
        token.note(code);
        false
    }
}

// SAFETY: eight bytes (transparent over `WordLock`), free at zero. Between threads that take the
// lock the word lock holds. A transaction has the word in its read set: it starts only while the
// word is free and is undone when another thread takes the lock; between two transactions the CPU
// keeps all reads and writes apart, and a commit is ordered as a locked instruction.
unsafe impl<H: Htm> RawLock for ElidedLock<H> {
    type Token = Elision;

    #[inline(always)]
    unsafe fn enter(&self, token: &Elision) -> Result<(), usize> {
        if self.elide(token) { Ok(()) } else { Err(core::ptr::from_ref(token) as usize) }
    }

    #[inline(always)]
    unsafe fn leave(&self, token: &Elision) {
        if token.is_elided() {
            // SAFETY: the transaction in which `is_elided` was set is still running.
            unsafe { H::end() };
        } else {
            // SAFETY: the caller holds the lock, and has not elided it.
            unsafe { self.lock.leave(&()) };
        }
    }

    #[inline(always)]
    fn account(token: &Elision, counts: &mut ElisionCounts) {
        if token.is_elided() {
            counts.elided += 1;
        } else {
            counts.fallbacks += 1;
        }
        // The common case has nothing to add, and every line written in a transaction costs room.
        if token.last.get().is_some() {
            let aborts = token.aborts.get().map(u64::from);
            counts.conflicts += aborts[AbortCause::Conflict as usize];
            counts.capacity += aborts[AbortCause::Capacity as usize];
            counts.lock_held += aborts[AbortCause::LockHeld as usize];
            counts.other += aborts[AbortCause::Other as usize];
        }
    }
}

/// Tries again, at most `retries` times, as long as that may help; then takes the lock as `ttas`
/// does.
///
/// # Safety
/// `lock` points to a live `ElidedLock<H>`, and `token` is the address that its `enter` returned,
/// of a token that is still in place.
#[inline(always)]
pub unsafe fn elided_slow<H: Htm, R: Relax>(lock: *const (), token: usize, retries: u32) -> u64 {
    // SAFETY: the caller promises both.
    let (lock, token) = unsafe { (&*lock.cast::<ElidedLock<H>>(), &*(token as *const Elision)) };
    let (mut spins, mut left) = (0, retries);
    loop {
        while !lock.lock.looks_free() {
            relax::<R>();
            spins += 1;
        }
        if left > 0 && token.last.get().is_some_and(AbortCode::retry_may_help) {
            left -= 1;
            if lock.elide(token) {
                return spins;
            }
        } else if lock.lock.take() {
            return spins;
        }
    }
}

/// Takes `Transactions: Hint Type symbol, ...;` and defines each symbol as the waiting of an elided
/// lock with that hint, plus `elided_slow_path(hint)`. The names say `ttas`, because that is the
/// lock that is elided.
#[cfg_attr(target_arch = "aarch64", allow(unused_macros, reason = "Arm has no transactions here"))]
macro_rules! elided_slow_paths {
    ($htm:ident: $($hint:ident $relax:ident $symbol:ident),+;) => {
        $(
            /// Waits for an elided lock with this hint; see `locks::SlowPath`.
            ///
            /// # Safety
            /// `lock` points to a live elided lock and `argument` came from its `enter`.
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub unsafe extern "C" fn $symbol(lock: *const (), argument: usize, limit: u32) -> u64 {
                // SAFETY: the caller's promise is the generic function's.
                unsafe { elided_slow::<$htm, $relax>(lock, argument, limit) }
            }
        )+

        /// The waiting of an elided lock with a hint; `None` for a hint of another architecture.
        pub fn elided_slow_path(hint: Hint) -> Option<crate::locks::SlowPath> {
            match hint {
                $(Hint::$hint => Some($symbol),)+
                _ => None,
            }
        }
    };
}
#[cfg_attr(
    target_arch = "aarch64",
    allow(unused_imports, reason = "Arm has no transactions here")
)]
pub(crate) use elided_slow_paths;
