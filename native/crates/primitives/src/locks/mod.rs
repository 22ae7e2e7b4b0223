//! Locks whose fast path is inlined and whose waiting is a separate, named function.
//!
//! A lock is eight bytes, all zero when free, so that it fits a row header or a table with any
//! stride. Four types cover six kinds: TAS, TTAS and back-off share a word and differ only in how
//! they wait. The fast path (`RawLock`) is generic code in the caller; the waiting is reached
//! through a function pointer chosen once per run (`LockContext`), because an indirect call costs
//! nothing next to waiting. Each (kind, hint) pair has its own exported symbol
//! `assay_lock_KIND_slow_HINT`: a disassembly of the running binary then proves which hint the code
//! that ran contains.
//!
//! Contention is counted per thread and per lock class in the `LockContext`, never in shared memory, and
//! nothing is written while spinning. The clock is read only on the slow path.
//!
//! `tests/loom.rs` runs every kind through loom (`sync` is the door), and shows that loom rejects
//! the same locks with one mistake each.
//!
//! Not here: reader-writer locks, try-lock.

mod context;
pub mod elided;
pub mod futex;
pub mod mcs;
pub mod slow;
#[cfg(not(feature = "loom"))]
mod sync;
#[cfg(feature = "loom")]
pub mod sync;
pub mod table;
pub mod ticket;
pub mod word;

pub use context::{AnyLockContext, LockContext};
pub use elided::{ElidedLock, ElisionCounts};
pub use futex::FutexLock;
pub use mcs::McsLock;
pub use table::LockTable;
pub use ticket::TicketLock;
pub use word::WordLock;

use core::any::TypeId;

use crate::arch::current::{htm as current_htm, slow as current};
use crate::{Address, Called, Clock, Hint, PrimitiveError, htm, named};

named! {
    /// How a lock waits and hands over.
    pub enum LockKind {
        /// Test-and-set: an atomic swap at every probe.
        Tas "tas",
        /// Test and test-and-set: plain loads until the lock looks free.
        Ttas "ttas",
        /// Doubling pauses between probes, then `sched_yield`: the shape of nginx's rwlock.
        Backoff "backoff",
        /// First come, first served, by numbers.
        Ticket "ticket",
        /// First come, first served, each waiter on its own cache line.
        Mcs "mcs",
        /// Spins for a while, then sleeps in the kernel.
        Futex "futex",
    }
}

/// Calls with the type of a kind's locks: `with_lock!(kind, L => of::<L>())`. The one place that knows
/// which kinds share a type.
#[macro_export]
macro_rules! with_lock {
    ($kind:expr, $lock:ident => $body:expr) => {
        match $kind {
            $crate::LockKind::Tas | $crate::LockKind::Ttas | $crate::LockKind::Backoff => {
                type $lock = $crate::locks::WordLock;
                $body
            }
            $crate::LockKind::Ticket => {
                type $lock = $crate::locks::TicketLock;
                $body
            }
            $crate::LockKind::Mcs => {
                type $lock = $crate::locks::McsLock;
                $body
            }
            $crate::LockKind::Futex => {
                type $lock = $crate::locks::FutexLock;
                $body
            }
        }
    };
}

/// Waits until the lock is held. Arguments: the lock, what `RawLock::enter` returned, and the spin
/// limit (back-off and futex). Returns how often it spun: hints executed, or probes where the hint
/// is nothing.
pub type SlowPath = unsafe extern "C" fn(lock: *const (), argument: usize, limit: u32) -> u64;

/// The eight bytes of a lock and its uncontended path.
///
/// # Safety
/// The type is eight bytes, aligned to eight, and free when all of them are zero. Between a
/// successful `enter` (or the slow path that follows a failed one) and `leave`, no other thread
/// gets through either: acquiring is an acquire operation, `leave` a release operation.
pub unsafe trait RawLock: Default + Send + Sync + 'static {
    /// What an acquisition keeps on its stack: a queue node for MCS, the history of an elision,
    /// nothing for the others.
    type Token: Default;

    /// Takes the lock if it is free. `Err` carries the argument for the slow path, which must then
    /// be called before anything else.
    ///
    /// # Safety
    /// The token is fresh, and neither moves nor dies before `leave` was called with it.
    unsafe fn enter(&self, token: &Self::Token) -> Result<(), usize>;

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock, acquired with this very token, which has not moved.
    unsafe fn leave(&self, token: &Self::Token);

    /// Counts how the lock was acquired, while it is held. Only elided locks have something to
    /// count.
    #[inline(always)]
    fn account(_: &Self::Token, _: &mut ElisionCounts) {}
}

/// What one thread met at one class of locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contention {
    /// Acquisitions.
    pub grabs: u64,
    /// Acquisitions that found the lock taken.
    pub waits: u64,
    /// Hints executed while waiting (probes where the hint is nothing).
    pub spins: u64,
    /// Clock ticks spent waiting.
    pub wait_ticks: u64,
}

impl Contention {
    /// What was added since an earlier reading of the same counters.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            grabs: self.grabs - earlier.grabs,
            waits: self.waits - earlier.waits,
            spins: self.spins - earlier.spins,
            wait_ticks: self.wait_ticks - earlier.wait_ticks,
        }
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Self) {
        self.grabs += other.grabs;
        self.waits += other.waits;
        self.spins += other.spins;
        self.wait_ticks += other.wait_ticks;
    }
}

/// One way of waiting: a kind, a hint, a limit, and the function that they select, which is for locks
/// of one type.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    slow: Called<SlowPath>,
    lock_type: TypeId,
    limit: u32,
    clock: Clock,
}

impl Waiting {
    /// Resolves a kind and a hint, or says that this architecture lacks the hint.
    pub fn new(
        kind: LockKind,
        hint: Hint,
        limit: u32,
        clock: Clock,
    ) -> Result<Self, PrimitiveError> {
        hint.require()?;
        let slow = current::slow_path(kind, hint).ok_or_else(|| PrimitiveError::Missing {
            what: format!("lock `{}` has no slow path with hint `{}`", kind.name(), hint.name()),
            next: "choose another hint".to_owned(),
        })?;
        let lock_type = with_lock!(kind, L => TypeId::of::<L>());
        Ok(Self { slow: Called::new(slow), lock_type, limit: limit.max(1), clock })
    }

    /// The waiting of an elided lock (`ElidedLock`): after an abort it tries again, at most
    /// `retries` times. Refuses a CPU whose transactions do not commit, naming their state.
    pub fn elided(hint: Hint, retries: u32, clock: Clock) -> Result<Self, PrimitiveError> {
        htm::require()?;
        hint.require()?;
        let slow = current_htm::elided_slow_path(hint).ok_or_else(|| PrimitiveError::Missing {
            what: format!("an elided lock has no slow path with hint `{}`", hint.name()),
            next: "choose another hint".to_owned(),
        })?;
        let lock_type = TypeId::of::<ElidedLock>();
        Ok(Self { slow: Called::new(slow), lock_type, limit: retries, clock })
    }

    /// A waiting by any function, for models.
    ///
    /// # Safety
    /// `slow` keeps the promises of `SlowPath` for every lock of type `L`.
    pub unsafe fn modelled<L: RawLock>(slow: SlowPath, limit: u32, clock: Clock) -> Self {
        Self { slow: Called::new(slow), lock_type: TypeId::of::<L>(), limit, clock }
    }

    /// The run-time address of the slow path that is called.
    pub fn address(&self) -> Address {
        self.slow.address()
    }
}
