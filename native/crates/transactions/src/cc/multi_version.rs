//! Multi-version concurrency control, serialisable: snapshots, first updater wins, validation.
//!
//! A transaction reads the newest versions that were committed when it began. A row to be written
//! is claimed at once: who finds it claimed, or newer than the snapshot, aborts (first updater
//! wins). Commit
//!
//! 1. marks the claimed rows `COMMITTING`,
//! 2. draws a timestamp from the one counter, which becomes the TID,
//! 3. checks that every row read still is the version read and committed by nobody else now, and
//!    that every node is unchanged: the reads then also hold at the timestamp,
//! 4. logs, installs, and publishes its timestamp when all smaller ones are published.
//!
//! The counter orders everything: of two transactions of which each reads what the other writes, the
//! later to draw sees the other's mark. So the serial order of writers is that of their timestamps,
//! and a snapshot, being all commits up to some timestamp, is a moment in it: who only reads is
//! never checked, whether it was declared read-only or just wrote nothing. A transaction that read
//! an old version and then writes aborts.
//!
//! Publishing in order makes a commit visible before it returns, to everybody; a thread that loses
//! its CPU between drawing and publishing makes the others wait.
//!
//! Deleted rows stay in the index, marked absent, until no snapshot sees them; then they leave it,
//! and are reused when no transaction can know them. One long reader delays both, and nothing else.
//!
//! Sources: Larson et al., "High-Performance Concurrency Control Mechanisms for Main-Memory
//! Databases" (Hekaton, VLDB 2012) for validation at an end timestamp; Lim et al., "Cicada" (SIGMOD
//! 2017) for versions inlined in rows; Neumann et al. (HyPer, SIGMOD 2015) for the newest in place.
//! Not here: their multi-clocks, precision locking, and reads of uncommitted versions.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use assay_primitives::{Address, Called};

use crate::bugs::SeededBug;
use crate::cc::versions::{self, CLAIMED, Visible};
use crate::cc::{Claim, Protocol, Purpose, Seen, Start, seqlock};
use crate::core::{Core, Place, Read};
use crate::error::{Abort, Cause, Full};
use crate::kind::CcKind;
use crate::row::Row;
use crate::tid::{self, ABSENT, COMMITTING, DEAD, LOCKED};
use crate::write_set::{Change, Entry};
use assay_primitives::sync::{AtomicU64, Ordering};

/// On lines of their own: both are written by every commit.
#[repr(align(128))]
struct Counter(AtomicU64);

/// The kind "multi-version".
pub struct MultiVersion {
    commit: Called<Commit>,
    /// The last timestamp drawn.
    drawn: Counter,
    /// All timestamps up to here are installed.
    visible: Counter,
    /// What workers that have ended left.
    left: Mutex<Garbage>,
}

/// How an attempt commits.
type Commit = fn(&MultiVersion, &mut Snapshot, &mut Core<'_>) -> Result<Option<u64>, Abort>;

/// What waits until no snapshot needs it, in the order of timestamps.
#[derive(Default)]
struct Garbage {
    /// Blocks, with the timestamp of their successors.
    versions: VecDeque<(u64, u64, usize)>,
    /// Deleted rows that are still in the index, with the timestamp of the deletion.
    deleted: VecDeque<(u64, Tombstone)>,
}

#[derive(Clone, Copy)]
struct Tombstone {
    table: usize,
    key: u64,
    reference: u64,
}

/// What a worker keeps.
pub struct Snapshot {
    /// The last commit that the transaction sees.
    at: u64,
    is_read_only: bool,
    /// Something read has a newer version: fine for a reader.
    is_stale: bool,
    /// Blocks for the older versions of the changes, place by place.
    blocks: Vec<Option<Row>>,
    garbage: Garbage,
    commits: u32,
}

/// Commits between two collections.
const COLLECT_EVERY: u32 = 64;

impl MultiVersion {
    /// Blocks with the current versions of the first `changes` entries.
    fn keep(local: &mut Snapshot, core: &mut Core<'_>, changes: usize) -> Result<(), Abort> {
        local.blocks.clear();
        for place in 0..changes {
            let entry = core.writes.entries[place];
            if entry.is_fresh {
                local.blocks.push(None);
                continue;
            }
            let table = core.table(entry.table);
            let Some(words) = core.rows.memory.allocate(table.bytes) else {
                Self::drop_blocks(local, core);
                return Err(Cause::Full(Full::Rows(table.schema.id)).into());
            };
            // SAFETY: fresh memory of this size, released only when no snapshot needs it.
            let block = unsafe { Row::at(words.cast()) };
            versions::keep(entry.row, entry.before, block, Self::PREFIX, table.words);
            local.blocks.push(Some(block));
        }
        Ok(())
    }

    /// Gives blocks back that nobody has seen.
    fn drop_blocks(local: &mut Snapshot, core: &mut Core<'_>) {
        for (place, block) in local.blocks.drain(..).enumerate() {
            if let Some(block) = block {
                let table = core.table(core.writes.entries[place].table);
                // SAFETY: `keep_versions` allocated it, and no header names it.
                unsafe { core.rows.memory.release(block.address(), table.bytes) };
            }
        }
    }

    fn check_reads(core: &Core<'_>, changes: usize) -> Result<(), Abort> {
        if core.base.has_bug(SeededBug::ValidationSkipped) {
            return Ok(());
        }
        let own = &core.writes.entries[..changes];
        let is_own = |row: Row| own.binary_search_by_key(&row, |entry| entry.row).is_ok();
        for read in &core.reads {
            let differs = read.row.head().load(Ordering::Relaxed) ^ read.header;
            if differs & !LOCKED != 0 && (differs & !CLAIMED != 0 || !is_own(read.row)) {
                return Err(Cause::ReadChanged.into());
            }
        }
        Ok(())
    }

    fn install(local: &mut Snapshot, core: &mut Core<'_>, changes: usize, tid: u64) {
        for place in 0..changes {
            let entry = core.writes.entries[place];
            let bytes = core.table(entry.table).bytes;
            if let Some(block) = local.blocks[place] {
                versions::link(entry.row, block);
                local.garbage.versions.push_back((tid, block.address(), bytes));
            }
            match entry.change {
                Change::Put => versions::install(entry.row, entry.before, tid, || {
                    let words = core.table(entry.table).words;
                    entry.row.set_words(Self::PREFIX, core.writes.words(&entry, words));
                }),
                Change::Delete => {
                    seqlock::publish(entry.row.head(), tid::header(tid) | ABSENT);
                    let Entry { table, key, reference, .. } = entry;
                    local.garbage.deleted.push_back((tid, Tombstone { table, key, reference }));
                }
                Change::Held => {}
            }
            core.rows.modified(entry.reference);
        }
        local.blocks.clear();
    }

    /// Waits for the smaller timestamps, so that what is visible is always all up to some commit.
    fn publish(&self, core: &mut Core<'_>, tid: u64) {
        let visible = &self.visible.0;
        let is_next = || visible.load(Ordering::Acquire) == tid - 1;
        if !is_next() {
            core.waits.until(|| is_next().then_some(()));
        }
        visible.store(tid, Ordering::Release);
    }

    fn commit_changes(
        &self,
        local: &mut Snapshot,
        core: &mut Core<'_>,
        changes: usize,
    ) -> Result<u64, Abort> {
        Self::keep(local, core, changes)?;
        for entry in &core.writes.entries[..changes] {
            entry.row.head().store(entry.before | CLAIMED, Ordering::Release);
        }
        let tid = self.drawn.0.fetch_add(1, Ordering::AcqRel) + 1;
        let checked = Self::check_reads(core, changes).and_then(|()| core.check_nodes());
        if let Err(abort) = checked.and_then(|()| core.log(tid, changes)) {
            for entry in &core.writes.entries[..changes] {
                entry.row.head().store(entry.before | LOCKED, Ordering::Release);
            }
            Self::drop_blocks(local, core);
            self.publish(core, tid);
            return Err(abort);
        }
        if core.base.has_bug(SeededBug::EarlyRelease) {
            self.publish(core, tid);
            std::thread::yield_now();
            Self::install(local, core, changes, tid);
        } else {
            Self::install(local, core, changes, tid);
            self.publish(core, tid);
        }
        Ok(tid)
    }

    #[inline(never)]
    fn commit_checked(
        &self,
        local: &mut Snapshot,
        core: &mut Core<'_>,
    ) -> Result<Option<u64>, Abort> {
        let changes = if core.writes.is_empty() { 0 } else { core.writes.sort() };
        if changes == 0 {
            core.log_nothing()?;
            Self::undo(core, 0);
            return Ok(None);
        }
        if local.is_stale && !core.base.has_bug(SeededBug::ValidationSkipped) {
            return Err(Cause::ReadChanged.into());
        }
        let tid = self.commit_changes(local, core, changes)?;
        Self::undo(core, changes);
        Ok(Some(tid))
    }

    /// Unlocks, or takes out of the index, what commit does not change.
    fn undo(core: &mut Core<'_>, from: usize) {
        for place in from..core.writes.entries.len() {
            let entry = core.writes.entries[place];
            if entry.is_fresh {
                core.remove_key(&entry);
                seqlock::publish(entry.row.head(), DEAD);
                core.retire(entry.table, entry.reference);
            } else {
                seqlock::publish(entry.row.head(), entry.before);
            }
        }
    }

    /// Takes a deleted row out of the index, unless it was put back. False if that is not decided.
    ///
    /// Since the deletion the row may have left the index by somebody else's hand, and its memory be
    /// another row's or an old version's. Only a reference that the index still gives is a row of
    /// this key, and stays one until this worker begins its next transaction (see `epochs`).
    fn unlink(core: &mut Core<'_>, tid: u64, tombstone: Tombstone) -> bool {
        let Tombstone { table, key, reference } = tombstone;
        let index = &core.base.tables[table].index;
        if index.find(key, &mut core.caller, &mut core.ignored) != Some(reference) {
            return true;
        }
        let Ok(row) = core.locate(reference) else { return true };
        let header = tid::header(tid) | ABSENT;
        let (taken, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        match row.head().compare_exchange(header, header | DEAD, taken, failed) {
            Ok(_) => {
                let index = &core.base.tables[table].index;
                index.remove(key, &mut core.caller, &mut core.ignored);
                core.rows.modified(reference);
                core.retire(table, reference);
                true
            }
            Err(now) => (now ^ header) & !CLAIMED != 0,
        }
    }

    fn collect(&self, local: &mut Snapshot, core: &mut Core<'_>) {
        let oldest = core.base.epochs.oldest_snapshot(&self.visible.0);
        let garbage = &mut local.garbage;
        while let Some(&(tid, address, bytes)) = garbage.versions.front() {
            if tid > oldest {
                break;
            }
            // SAFETY: an old version that no snapshot needs any more; the list names each once.
            unsafe { core.rows.memory.release(address, bytes) };
            garbage.versions.pop_front();
        }
        let due = garbage.deleted.partition_point(|(tid, _)| *tid <= oldest);
        for _ in 0..due {
            let Some((tid, tombstone)) = garbage.deleted.pop_front() else { break };
            if !Self::unlink(core, tid, tombstone) {
                garbage.deleted.push_front((tid, tombstone));
                break;
            }
        }
        core.rows.end();
    }
}

impl Protocol for MultiVersion {
    const KIND: CcKind = CcKind::MultiVersion;
    const PREFIX: usize = 3;
    const HOLDS: bool = true;
    type Local = Snapshot;

    fn new() -> Self {
        let counter = || Counter(AtomicU64::new(0));
        let commit = Called::new(Self::commit_checked as Commit);
        Self { commit, drawn: counter(), visible: counter(), left: Mutex::default() }
    }

    fn witness(&self) -> Address {
        self.commit.address()
    }

    fn local(&self, _: &mut Core<'_>) -> Snapshot {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        Snapshot {
            at: 0,
            is_read_only: false,
            is_stale: false,
            blocks: Vec::new(),
            garbage: core::mem::take(&mut left),
            commits: 0,
        }
    }

    fn raise_tid(&self, tid: u64) {
        self.drawn.0.fetch_max(tid, Ordering::AcqRel);
        self.visible.0.fetch_max(tid, Ordering::AcqRel);
    }

    fn visible(&self) -> Option<&AtomicU64> {
        Some(&self.visible.0)
    }

    #[inline(always)]
    fn begin(&self, local: &mut Snapshot, core: &mut Core<'_>, start: Start) {
        let at = self.visible.0.load(Ordering::Acquire);
        if at != local.at {
            local.at = at;
            core.base.epochs.announce_snapshot(core.worker, at);
        }
        local.is_stale = false;
        local.is_read_only = start.is_read_only;
        core.tracks_nodes = !start.is_read_only;
    }

    fn snapshot(&self, local: &Snapshot) -> Option<u64> {
        Some(local.at)
    }

    #[inline(always)]
    fn read(
        &self,
        local: &mut Snapshot,
        core: &mut Core<'_>,
        place: &Place,
        bytes: &mut [u8],
    ) -> Result<Seen, Abort> {
        let copy = |row: Row| row.copy_to(Self::PREFIX, bytes);
        // SAFETY: the worker announced the snapshot before the transaction began.
        let header = match unsafe { versions::read(place.row, local.at, copy) } {
            Visible::Newest(header) => {
                if !local.is_read_only {
                    core.reads.push(Read { row: place.row, header });
                }
                header
            }
            Visible::Older(header) => {
                local.is_stale = true;
                core.old_versions_read += 1;
                header
            }
            Visible::Never => {
                local.is_stale = true;
                ABSENT
            }
            Visible::Dead => return Ok(Seen::Dead),
        };
        Ok(if header & ABSENT == 0 { Seen::Present(tid::tid(header)) } else { Seen::Absent })
    }

    fn claim(
        &self,
        local: &mut Snapshot,
        core: &mut Core<'_>,
        place: &Place,
        purpose: Purpose,
    ) -> Result<Claim, Abort> {
        if local.is_stale {
            return Err(Cause::ReadChanged.into());
        }
        core.waits.counts.grabs += 1;
        let head = place.row.head();
        let mut header = head.load(Ordering::Acquire);
        loop {
            if header & DEAD != 0 {
                return Ok(Claim::Dead);
            }
            if header & LOCKED != 0 {
                core.waits.counts.waits += 1;
                return Err(Cause::LockBusy.into());
            }
            if tid::tid(header) > local.at {
                return Err(Cause::WriteTooLate.into());
            }
            match (header & ABSENT != 0, purpose) {
                (true, Purpose::Change) => {
                    core.reads.push(Read { row: place.row, header });
                    return Ok(Claim::Absent(header));
                }
                (false, Purpose::Insert) => return Ok(Claim::Present(header)),
                _ => {}
            }
            let (taken, failed) = (Ordering::Acquire, Ordering::Acquire);
            match head.compare_exchange_weak(header, header | LOCKED, taken, failed) {
                Ok(_) if header & ABSENT != 0 => return Ok(Claim::Absent(header)),
                Ok(_) => return Ok(Claim::Present(header)),
                Err(now) => header = now,
            }
        }
    }

    fn prepare(&self, _: &Snapshot, row: Row) -> u64 {
        row.second().store(0, Ordering::Relaxed);
        row.head().store(LOCKED | ABSENT, Ordering::Relaxed);
        ABSENT
    }

    fn load(&self, row: Row, tid: u64) {
        row.second().store(0, Ordering::Relaxed);
        row.head().store(tid::header(tid), Ordering::Relaxed);
    }

    fn committed(&self, row: Row) -> Option<u64> {
        let header = row.head().load(Ordering::Acquire);
        debug_assert_eq!(header & COMMITTING, 0, "somebody commits");
        (header & (ABSENT | DEAD) == 0).then_some(tid::tid(header))
    }

    /// A snapshot always is of one moment.
    fn check(&self, _: &mut Snapshot, _: &mut Core<'_>) -> Result<(), Abort> {
        Ok(())
    }

    #[inline(always)]
    fn commit(&self, local: &mut Snapshot, core: &mut Core<'_>) -> Result<Option<u64>, Abort> {
        core.witnessed += 1;
        (self.commit.function())(self, local, core)
    }

    fn roll_back(&self, _: &mut Snapshot, core: &mut Core<'_>) {
        Self::undo(core, 0);
    }

    #[inline(always)]
    fn tidy(&self, local: &mut Snapshot, core: &mut Core<'_>) {
        local.commits += 1;
        if local.commits >= COLLECT_EVERY {
            local.commits = 0;
            self.collect(local, core);
        }
    }

    fn garbage(&self, local: &Snapshot) -> usize {
        local.garbage.versions.len() + local.garbage.deleted.len()
    }

    fn leave(&self, local: &mut Snapshot, _: &mut Core<'_>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.versions.append(&mut local.garbage.versions);
        left.deleted.append(&mut local.garbage.deleted);
        // Both are collected from the front.
        left.versions.make_contiguous().sort_unstable();
        left.deleted.make_contiguous().sort_unstable_by_key(|(tid, _)| *tid);
    }
}
