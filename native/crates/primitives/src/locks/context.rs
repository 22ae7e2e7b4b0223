//! One thread's way to the locks of one class: how to wait, and what was met.
//!
//! A context is of the type of its locks. Where that type is chosen at run time and the caller does not
//! know it (`dyn` parts), it is an [`AnyLockContext`], and whoever knows the type takes it as one of that
//! type. Nothing on the way to a free lock depends on it. The function that waits is of one type of lock,
//! so each wait begins by comparing.

use core::any::TypeId;
use core::marker::PhantomData;

use super::{Contention, ElisionCounts, RawLock, Waiting};

/// A context for locks of type `L`.
#[derive(Debug)]
#[repr(transparent)]
pub struct LockContext<L> {
    any: AnyLockContext,
    lock: PhantomData<fn() -> L>,
}

/// A context for locks of a type that was chosen at run time.
#[derive(Debug)]
pub struct AnyLockContext {
    waiting: Waiting,
    counts: Contention,
    elision: ElisionCounts,
}

impl AnyLockContext {
    /// A context that has met nothing yet.
    pub fn new(waiting: Waiting) -> Self {
        Self { waiting, counts: Contention::default(), elision: ElisionCounts::default() }
    }

    /// What this thread has met so far.
    pub fn counts(&self) -> Contention {
        self.counts
    }

    /// What this thread has met so far at elided locks.
    pub fn elision(&self) -> ElisionCounts {
        self.elision
    }

    /// As the context that it is. With another type of lock than that of its waiting, the first wait
    /// panics.
    #[inline(always)]
    pub fn of<L: RawLock>(&mut self) -> &mut LockContext<L> {
        // SAFETY: a `LockContext` is transparent over this type, whatever its `L`.
        unsafe { &mut *core::ptr::from_mut(self).cast() }
    }

    #[cold]
    #[inline(never)]
    fn wait(&mut self, lock: *const (), argument: usize, lock_type: TypeId) {
        self.waiting.require(lock_type);
        // SAFETY: the slow path is that of this type of lock; `lock` is alive (borrowed by `take`), and
        // `argument` came from its `enter`.
        let wait = || unsafe { (self.waiting.slow.function())(lock, argument, self.waiting.limit) };
        if cfg!(feature = "uncounted") {
            wait();
            return;
        }
        let start = self.waiting.clock.ticks();
        let spins = wait();
        self.counts.waits += 1;
        self.counts.spins += spins;
        self.counts.wait_ticks += self.waiting.clock.ticks().saturating_sub(start);
    }
}

impl Waiting {
    fn require(&self, lock_type: TypeId) {
        assert!(self.lock_type == lock_type, "this waiting is for locks of another type");
    }
}

impl<L: RawLock> LockContext<L> {
    /// A context that has met nothing yet. Panics if the waiting is for locks of another type.
    pub fn new(waiting: Waiting) -> Self {
        waiting.require(TypeId::of::<L>());
        Self { any: AnyLockContext::new(waiting), lock: PhantomData }
    }

    /// As [`AnyLockContext::counts`].
    pub fn counts(&self) -> Contention {
        self.any.counts
    }

    /// As [`AnyLockContext::elision`].
    pub fn elision(&self) -> ElisionCounts {
        self.any.elision
    }

    /// Runs `body` while holding `lock`. A panic in `body` leaves the lock held: in this program a
    /// panic ends the run.
    #[inline(always)]
    pub fn with<T>(&mut self, lock: &L, body: impl FnOnce() -> T) -> T {
        let token = L::Token::default();
        // SAFETY: the token is fresh and stays in place until `leave` below.
        unsafe { self.take(lock, &token) };
        let result = body();
        // SAFETY: `take` took the lock with this token, which stayed in place.
        unsafe { lock.leave(&token) };
        result
    }

    /// Takes `lock` and leaves its release to the caller (`RawLock::leave`): for latch coupling,
    /// where holding times overlap without nesting.
    ///
    /// # Safety
    /// As [`RawLock::enter`].
    #[inline(always)]
    pub unsafe fn take(&mut self, lock: &L, token: &L::Token) {
        if cfg!(not(feature = "uncounted")) {
            self.any.counts.grabs += 1;
        }
        // SAFETY: the caller's promise.
        if let Err(argument) = unsafe { lock.enter(token) } {
            self.any.wait(core::ptr::from_ref(lock).cast(), argument, TypeId::of::<L>());
        }
        L::account(token, &mut self.any.elision);
    }
}
