//! Optimistic concurrency control after Silo (Tu et al., SOSP 2013).
//!
//! A read copies the row between two looks at its header and remembers the header. Writes wait in
//! private memory. Commit locks the rows to be written in the order of their addresses, checks that
//! every row read still has its header and every node its version, takes a TID higher than any
//! version met, logs, installs, and unlocks.
//!
//! The fence between locking and checking is what keeps two transactions, each of which reads what
//! the other writes, from both missing the other's lock. A transaction that writes nothing needs
//! none: it can only be ordered before a writer whose lock it missed, and if it saw any effect
//! of a commit that followed, the acquire load that showed it also shows the lock. One row read and
//! nothing else needs no check at all.
//!
//! What differs from Silo: an insert puts its row into the index, marked absent, while the
//! procedure runs, and a deletion takes the row out at commit, so that absence is always a matter
//! of nodes; epochs serve only the reuse of memory, because the log has places of its own.
//!
//! A procedure may see rows of different moments before it is told. It must not loop for ever or
//! panic on what could not be; when it asks for a rollback, the reads are checked first.

use assay_primitives::{Address, Called};

use crate::bugs::SeededBug;
use crate::cc::{Claim, Protocol, Purpose, Seen, Start, seqlock};
use crate::core::{Core, Place, Read};
use crate::error::{Abort, Cause};
use crate::kind::CcKind;
use crate::row::Row;
use crate::tid::{self, ABSENT, DEAD, LOCKED};
use crate::write_set::{Change, Entry};
use assay_primitives::sync::{Ordering, fence};

/// The kind "optimistic".
pub struct Optimistic {
    commit: Called<Commit>,
}

/// How an attempt commits.
type Commit = fn(&mut Core<'_>) -> Result<Option<u64>, Abort>;

impl Optimistic {
    /// Locks the rows of the first `changes` entries. Waiting is safe: the order is everybody's.
    fn lock(core: &mut Core<'_>, changes: usize) -> Result<(), Abort> {
        for place in 0..changes {
            let head = core.writes.entries[place].row;
            let head = head.head();
            core.waits.counts.grabs += 1;
            let before = match seqlock::lock(head) {
                Ok(before) => before,
                Err(seqlock::Busy) => core.waits.until(|| seqlock::lock(head).ok()),
            };
            let entry = &mut core.writes.entries[place];
            entry.before = before;
            if before & DEAD != 0 {
                Self::unlock(core, place + 1);
                return Err(Cause::ReadChanged.into());
            }
        }
        Ok(())
    }

    fn unlock(core: &mut Core<'_>, changes: usize) {
        for entry in &core.writes.entries[..changes] {
            seqlock::publish(entry.row.head(), entry.before);
        }
    }

    /// Whether every row read has the header it had; `changes` are locked by this transaction.
    fn check_reads(core: &Core<'_>, changes: usize) -> Result<(), Abort> {
        if core.base.has_bug(SeededBug::ValidationSkipped) {
            return Ok(());
        }
        let own = &core.writes.entries[..changes];
        let is_own = |row: Row| own.binary_search_by_key(&row, |entry| entry.row).is_ok();
        for read in &core.reads {
            let now = read.row.head().load(Ordering::Relaxed);
            if now != read.header && !(now == read.header | LOCKED && is_own(read.row)) {
                return Err(Cause::ReadChanged.into());
            }
        }
        Ok(())
    }

    fn install(core: &mut Core<'_>, changes: usize, tid: u64) {
        if core.base.has_bug(SeededBug::EarlyRelease) {
            Self::unlock(core, changes);
            std::thread::yield_now();
        }
        seqlock::begin_install();
        for place in 0..changes {
            let entry = core.writes.entries[place];
            match entry.change {
                Change::Put => {
                    let words = core.table(entry.table).words;
                    entry.row.set_words(Self::PREFIX, core.writes.words(&entry, words));
                    core.rows.modified(entry.reference);
                    seqlock::publish(entry.row.head(), tid::header(tid));
                }
                Change::Delete => {
                    core.record_deletion(&entry, tid);
                    core.remove_key(&entry);
                    core.rows.modified(entry.reference);
                    seqlock::publish(entry.row.head(), tid::header(tid) | DEAD);
                    core.retire(entry.table, entry.reference);
                }
                Change::Held => {}
            }
        }
    }

    /// Takes inserted rows out again.
    fn take_back<'e>(core: &mut Core<'_>, entries: impl Iterator<Item = &'e Entry>) {
        for entry in entries.filter(|entry| entry.is_fresh) {
            core.remove_key(entry);
            seqlock::publish(entry.row.head(), entry.before & !LOCKED | DEAD);
            core.retire(entry.table, entry.reference);
        }
    }

    /// A row's header and content while nobody writes it.
    #[inline(always)]
    fn settled(core: &mut Core<'_>, row: Row, bytes: &mut [u8]) -> u64 {
        let mut attempt = || seqlock::read(row.head(), || row.copy_to(Self::PREFIX, bytes)).ok();
        match attempt() {
            Some(header) => header,
            None => core.waits.until(attempt),
        }
    }
}

impl Protocol for Optimistic {
    const KIND: CcKind = CcKind::Optimistic;
    const PREFIX: usize = 2;
    const HOLDS: bool = false;
    type Local = ();

    fn new() -> Self {
        Self { commit: Called::new(Self::commit_checked as Commit) }
    }

    fn witness(&self) -> Address {
        self.commit.address()
    }

    fn local(&self, _: &mut Core<'_>) {}

    #[inline(always)]
    fn begin(&self, (): &mut (), _: &mut Core<'_>, _: Start) {}

    #[inline(always)]
    fn read(
        &self,
        (): &mut (),
        core: &mut Core<'_>,
        place: &Place,
        row: &mut [u8],
    ) -> Result<Seen, Abort> {
        let header = Self::settled(core, place.row, row);
        if header & DEAD != 0 {
            return Ok(Seen::Dead);
        }
        core.observe(header);
        core.reads.push(Read { row: place.row, header });
        Ok(if header & ABSENT == 0 { Seen::Present(tid::tid(header)) } else { Seen::Absent })
    }

    fn claim(
        &self,
        (): &mut (),
        core: &mut Core<'_>,
        place: &Place,
        purpose: Purpose,
    ) -> Result<Claim, Abort> {
        let header = Self::settled(core, place.row, &mut []);
        if header & DEAD != 0 {
            return Ok(Claim::Dead);
        }
        if header & ABSENT != 0 && purpose == Purpose::Insert {
            // Another transaction is about to insert this key.
            return Err(Cause::LockBusy.into());
        }
        if header & ABSENT != 0 || purpose == Purpose::Insert {
            // What the procedure is told about the key must be true at commit.
            core.reads.push(Read { row: place.row, header });
        }
        core.observe(header);
        Ok(if header & ABSENT == 0 { Claim::Present(header) } else { Claim::Absent(header) })
    }

    fn prepare(&self, (): &(), row: Row) -> u64 {
        row.head().store(ABSENT, Ordering::Relaxed);
        ABSENT
    }

    fn load(&self, row: Row, tid: u64) {
        row.head().store(tid::header(tid), Ordering::Relaxed);
    }

    fn committed(&self, row: Row) -> Option<u64> {
        let header = row.head().load(Ordering::Acquire);
        (header & (ABSENT | DEAD) == 0).then_some(tid::tid(header))
    }

    fn check(&self, (): &mut (), core: &mut Core<'_>) -> Result<(), Abort> {
        Self::check_all(core)
    }

    #[inline(always)]
    fn commit(&self, (): &mut (), core: &mut Core<'_>) -> Result<Option<u64>, Abort> {
        core.witnessed += 1;
        (self.commit.function())(core)
    }

    fn roll_back(&self, (): &mut (), core: &mut Core<'_>) {
        let entries = core::mem::take(&mut core.writes.entries);
        Self::take_back(core, entries.iter());
        core.writes.entries = entries;
    }
}

impl Optimistic {
    fn check_all(core: &Core<'_>) -> Result<(), Abort> {
        Self::check_reads(core, 0)?;
        core.check_nodes()
    }

    #[inline(never)]
    fn commit_checked(core: &mut Core<'_>) -> Result<Option<u64>, Abort> {
        if core.writes.is_empty() {
            if core.reads.len() > 1 || core.has_nodes() {
                Self::check_all(core)?;
            }
            core.log_nothing()?;
            return Ok(None);
        }
        let changes = core.writes.sort();
        Self::lock(core, changes)?;
        fence(Ordering::SeqCst);
        let checked = Self::check_reads(core, changes).and_then(|()| core.check_nodes());
        let tid = core.draw_tid(changes);
        if let Err(abort) = checked.and_then(|()| core.log(tid, changes)) {
            Self::unlock(core, changes);
            return Err(abort);
        }
        Self::install(core, changes, tid);
        let entries = core::mem::take(&mut core.writes.entries);
        Self::take_back(core, entries[changes..].iter());
        core.writes.entries = entries;
        Ok((changes > 0).then_some(tid))
    }
}
