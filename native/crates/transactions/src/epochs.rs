//! When memory may be used again: after every worker has begun a transaction later than the one
//! that unlinked it (quiescent-state-based reclamation).
//!
//! A worker announces, between transactions, the epoch that it sees; while the epoch stays the
//! same it writes nothing, so a read-only transaction writes nothing shared. Whoever unlinks rows
//! advances the epoch, once per batch, and the number before the advance is the batch's tag: a
//! worker that announces more has begun after the unlinking, and so cannot find the rows.
//!
//! No fence is needed for a worker that is always announced: its old announcement stands until the
//! new one. The price is that a worker between two transactions holds memory back until it begins
//! the next, or `rest`s. A stalled worker delays reuse without bound, as with every epoch scheme.
//!
//! Sources: McKenney and Slingwine, "Read-Copy Update" (PDCS 1998); Hart et al., "Performance of
//! Memory Reclamation for Lockless Synchronization" (JPDC 67, 2007) for the name and the costs.

use assay_primitives::sync::{AtomicU64, Ordering, fence};

/// What a worker announces while it runs no transaction and says so.
const RESTING: u64 = u64::MAX;

/// Announcements lie apart, at the distance at which prefetchers do not couple them.
#[repr(align(128))]
struct Slot {
    epoch: AtomicU64,
    /// Multi-version: no snapshot older than this is or will be used.
    snapshot: AtomicU64,
}

/// The epoch and what the workers announced.
pub struct Epochs {
    now: AtomicU64,
    slots: Box<[Slot]>,
}

impl Epochs {
    /// No worker is announced.
    pub fn new(workers: usize) -> Self {
        let slot = |_| Slot { epoch: AtomicU64::new(RESTING), snapshot: AtomicU64::new(RESTING) };
        Self { now: AtomicU64::new(0), slots: (0..workers).map(slot).collect() }
    }

    /// The worker uses nothing that it found before.
    #[inline(always)]
    pub fn pass(&self, worker: usize) {
        let now = self.now.load(Ordering::Acquire);
        let own = &self.slots[worker].epoch;
        if own.load(Ordering::Relaxed) != now {
            own.store(now, Ordering::Release);
        }
    }

    /// A resting worker is about to begin. The fence orders the announcement before everything
    /// that the worker will find: whoever missed it has unlinked before.
    pub fn wake(&self, worker: usize, visible: &AtomicU64) {
        let slot = &self.slots[worker];
        slot.snapshot.store(visible.load(Ordering::Acquire), Ordering::Relaxed);
        slot.epoch.store(self.now.load(Ordering::Acquire), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The worker uses nothing, and will not before it wakes.
    pub fn rest(&self, worker: usize) {
        let slot = &self.slots[worker];
        slot.epoch.store(RESTING, Ordering::Release);
        slot.snapshot.store(RESTING, Ordering::Release);
    }

    /// The tag of everything that the caller has unlinked so far.
    pub fn advance(&self) -> u64 {
        self.now.fetch_add(1, Ordering::AcqRel)
    }

    /// What has a smaller tag can be used again.
    pub fn safe(&self) -> u64 {
        self.least(|slot| &slot.epoch)
    }

    /// The worker will use no snapshot older than this.
    #[inline(always)]
    pub fn announce_snapshot(&self, worker: usize, snapshot: u64) {
        self.slots[worker].snapshot.store(snapshot, Ordering::Release);
    }

    /// The oldest snapshot that is or will be used. `visible` is what new snapshots begin from.
    pub fn oldest_snapshot(&self, visible: &AtomicU64) -> u64 {
        let newest = visible.load(Ordering::Acquire);
        self.least(|slot| &slot.snapshot).min(newest)
    }

    fn least(&self, word: impl Fn(&Slot) -> &AtomicU64) -> u64 {
        fence(Ordering::SeqCst);
        self.slots.iter().map(|slot| word(slot).load(Ordering::Acquire)).min().unwrap_or(RESTING)
    }
}
