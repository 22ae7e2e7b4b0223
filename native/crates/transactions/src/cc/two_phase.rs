//! Strict two-phase locking with the locks in the rows: no table of locks, no queues.
//!
//! Rows are locked shared when read and exclusively when read for update, written or deleted, and
//! all locks are released after commit has installed the writes. What happens at a lock that is
//! taken is the policy: no-wait gives up, wait-die waits if older than all holders. Both are the
//! variants that CCBench (Tanabe et al., VLDB 2020) and Yu et al. ("Staring into the Abyss",
//! VLDB 2015) compare; there they are built with lists of owners, here with one word.
//!
//! Keys that are not there have no rows to lock. As in the other kinds, the transaction remembers
//! the nodes where it looked, and checks at commit, with all locks held, that they are unchanged.
//! That moment is its place in the serial order, by locks and by nodes alike.
//!
//! The header word of the row carries the TID and whether the row is dead; the second word is the
//! lock.

use core::marker::PhantomData;

use assay_primitives::{Address, Called};

use crate::bugs::SeededBug;
use crate::cc::{Claim, Protocol, Purpose, Seen, Start, lock_word};
use crate::core::{Core, Place};
use crate::error::{Abort, Cause};
use crate::kind::CcKind;
use crate::row::Row;
use crate::tid::{self, DEAD};
use crate::write_set::Change;
use assay_primitives::sync::Ordering;

/// What a transaction does at a lock that is taken.
pub trait Policy: Send + Sync + 'static {
    /// The kind of concurrency control.
    const KIND: CcKind;
    /// Gives up. Each policy's own function, so that a witness can tell the policies apart.
    fn refuse() -> Cause;
    /// Whether it waits, given its age and the lock's word.
    fn waits(age: u64, word: u64) -> bool;
}

/// Gives up at once.
pub enum NoWaitPolicy {}

impl Policy for NoWaitPolicy {
    const KIND: CcKind = CcKind::NoWait;

    #[inline(never)]
    fn refuse() -> Cause {
        Cause::LockBusy
    }

    #[inline(always)]
    fn waits(_: u64, _: u64) -> bool {
        false
    }
}

/// Waits for younger ones, gives up for older ones.
pub enum WaitDiePolicy {}

impl Policy for WaitDiePolicy {
    const KIND: CcKind = CcKind::WaitDie;

    #[inline(never)]
    fn refuse() -> Cause {
        Cause::Died
    }

    #[inline(always)]
    fn waits(age: u64, word: u64) -> bool {
        lock_word::is_older(age, word)
    }
}

/// Two-phase locking with a policy.
pub struct TwoPhase<P> {
    refuse: Called<fn() -> Cause>,
    policy: PhantomData<fn() -> P>,
}

/// The kind "no-wait".
pub type NoWait = TwoPhase<NoWaitPolicy>;
/// The kind "wait-die".
pub type WaitDie = TwoPhase<WaitDiePolicy>;

/// What a worker keeps.
#[derive(Default)]
pub struct Locks {
    /// When the transaction began, in units of clock ticks: smaller is older. Kept over retries.
    age: u64,
    /// Rows held shared, as often as they are held.
    shared: Vec<Row>,
}

const WORKER_BITS: u32 = 8;
/// Ticks of a few gigahertz become tenths of microseconds, so that an age has room for ten days
/// and more.
const TICK_SHIFT: u32 = 8;

impl<P: Policy> TwoPhase<P> {
    /// Later than the worker's last, and no other worker's.
    fn age(last: u64, core: &Core<'_>) -> u64 {
        let most = (1 << (lock_word::AGE_BITS - WORKER_BITS)) - 1;
        let now = (core.waits.ticks() >> TICK_SHIFT) & most;
        now.max((last >> WORKER_BITS) + 1) << WORKER_BITS | core.worker as u64
    }

    #[inline(always)]
    fn share(&self, locks: &Locks, core: &mut Core<'_>, row: Row) -> Result<(), Abort> {
        core.waits.counts.grabs += 1;
        match lock_word::share(row.second(), locks.age) {
            Ok(()) => Ok(()),
            Err(word) => self
                .wait_for_lock(core, locks.age, word, || lock_word::share(row.second(), locks.age)),
        }
    }

    fn exclude(&self, locks: &mut Locks, core: &mut Core<'_>, row: Row) -> Result<(), Abort> {
        core.waits.counts.grabs += 1;
        let age = locks.age;
        if lock_word::exclude(row.second(), age, 0).is_ok() {
            return Ok(());
        }
        let own = locks.shared.iter().filter(|shared| **shared == row).count() as u64;
        let take = || lock_word::exclude(row.second(), age, own);
        take().or_else(|word| self.wait_for_lock(core, age, word, take))?;
        if own > 0 {
            locks.shared.retain(|shared| *shared != row);
        }
        Ok(())
    }

    /// Tries again as long as the policy says.
    #[cold]
    #[inline(never)]
    fn wait_for_lock(
        &self,
        core: &mut Core<'_>,
        age: u64,
        mut word: u64,
        mut take: impl FnMut() -> Result<(), u64>,
    ) -> Result<(), Abort> {
        let mut waited = Err(());
        if P::waits(age, word) {
            waited = core.waits.until(|| match take() {
                Ok(()) => Some(Ok(())),
                Err(now) => {
                    word = now;
                    (!P::waits(age, word)).then_some(Err(()))
                }
            });
        } else {
            core.waits.counts.waits += 1;
        }
        waited.map_err(|()| {
            core.witnessed += 1;
            (self.refuse.function())().into()
        })
    }

    fn release_shared(locks: &mut Locks) {
        for row in locks.shared.drain(..) {
            lock_word::leave_shared(row.second());
        }
    }

    fn release_all(locks: &mut Locks, core: &Core<'_>) {
        for entry in &core.writes.entries {
            lock_word::leave_exclusive(entry.row.second());
        }
        Self::release_shared(locks);
    }

    fn install(core: &mut Core<'_>, tid: u64) {
        for place in 0..core.writes.entries.len() {
            let entry = core.writes.entries[place];
            let header = tid::header(tid);
            match entry.change {
                Change::Put => {
                    let words = core.table(entry.table).words;
                    entry.row.set_words(Self::PREFIX, core.writes.words(&entry, words));
                    entry.row.head().store(header, Ordering::Relaxed);
                }
                Change::Delete => {
                    if !entry.was_absent {
                        core.record_deletion(&entry, tid);
                    }
                    core.remove_key(&entry);
                    entry.row.head().store(header | DEAD, Ordering::Relaxed);
                    core.retire(entry.table, entry.reference);
                }
                Change::Held => continue,
            }
            core.rows.modified(entry.reference);
        }
    }
}

impl<P: Policy> Protocol for TwoPhase<P> {
    const KIND: CcKind = P::KIND;
    const PREFIX: usize = 3;
    const HOLDS: bool = true;
    type Local = Locks;

    fn new() -> Self {
        Self { refuse: Called::new(P::refuse), policy: PhantomData }
    }

    fn witness(&self) -> Address {
        self.refuse.address()
    }

    fn local(&self, _: &mut Core<'_>) -> Locks {
        Locks::default()
    }

    #[inline(always)]
    fn begin(&self, locks: &mut Locks, core: &mut Core<'_>, start: Start) {
        if P::KIND == CcKind::WaitDie && !start.is_retry {
            locks.age = Self::age(locks.age, core);
        }
    }

    #[inline(always)]
    fn read(
        &self,
        locks: &mut Locks,
        core: &mut Core<'_>,
        place: &Place,
        bytes: &mut [u8],
    ) -> Result<Seen, Abort> {
        let row = place.row;
        self.share(locks, core, row)?;
        let header = row.head().load(Ordering::Relaxed);
        if header & DEAD != 0 {
            lock_word::leave_shared(row.second());
            return Ok(Seen::Dead);
        }
        row.copy_to(Self::PREFIX, bytes);
        core.observe(header);
        if core.base.has_bug(SeededBug::ValidationSkipped) {
            lock_word::leave_shared(row.second());
        } else {
            locks.shared.push(row);
        }
        Ok(Seen::Present(tid::tid(header)))
    }

    fn claim(
        &self,
        locks: &mut Locks,
        core: &mut Core<'_>,
        place: &Place,
        purpose: Purpose,
    ) -> Result<Claim, Abort> {
        if purpose == Purpose::Insert {
            // A row that is in the way stays there until this transaction has said so.
            return Ok(match self.read(locks, core, place, &mut [])? {
                Seen::Present(tid) => Claim::Present(tid::header(tid)),
                Seen::Absent | Seen::Dead => Claim::Dead,
            });
        }
        self.exclude(locks, core, place.row)?;
        let header = place.row.head().load(Ordering::Relaxed);
        if header & DEAD != 0 {
            lock_word::leave_exclusive(place.row.second());
            return Ok(Claim::Dead);
        }
        core.observe(header);
        Ok(Claim::Present(header))
    }

    fn prepare(&self, locks: &Locks, row: Row) -> u64 {
        row.second().store(0, Ordering::Relaxed);
        // Nobody can know the row yet.
        let taken = lock_word::exclude(row.second(), locks.age, 0);
        debug_assert!(taken.is_ok());
        row.head().store(0, Ordering::Relaxed);
        0
    }

    fn load(&self, row: Row, tid: u64) {
        row.second().store(0, Ordering::Relaxed);
        row.head().store(tid::header(tid), Ordering::Relaxed);
    }

    fn committed(&self, row: Row) -> Option<u64> {
        let header = row.head().load(Ordering::Acquire);
        (header & DEAD == 0).then_some(tid::tid(header))
    }

    fn check(&self, _: &mut Locks, core: &mut Core<'_>) -> Result<(), Abort> {
        core.fence_and_check_nodes()
    }

    #[inline(always)]
    fn commit(&self, locks: &mut Locks, core: &mut Core<'_>) -> Result<Option<u64>, Abort> {
        core.fence_and_check_nodes()?;
        if core.writes.is_empty() {
            core.log_nothing()?;
            Self::release_shared(locks);
            return Ok(None);
        }
        let all = core.writes.entries.len();
        let is_change = core.writes.entries.iter().any(|entry| entry.is_change());
        let tid = core.draw_tid(all);
        if is_change {
            core.log(tid, all)?;
        } else {
            core.log_nothing()?;
        }
        if core.base.has_bug(SeededBug::EarlyRelease) {
            Self::release_all(locks, core);
            std::thread::yield_now();
            Self::install(core, tid);
        } else {
            Self::install(core, tid);
            Self::release_all(locks, core);
        }
        Ok(is_change.then_some(tid))
    }

    fn roll_back(&self, locks: &mut Locks, core: &mut Core<'_>) {
        for place in 0..core.writes.entries.len() {
            let entry = core.writes.entries[place];
            if entry.is_fresh {
                core.remove_key(&entry);
                entry.row.head().store(DEAD, Ordering::Relaxed);
                core.retire(entry.table, entry.reference);
            }
        }
        Self::release_all(locks, core);
    }
}
