//! One attempt at a transaction: the operations of `workload::Tables` over any kind of concurrency
//! control.

use std::ops::RangeInclusive;

use assay_workload::tables::{AbortCause, Direction, TableId, Tables};

use crate::cc::{Claim, Protocol, Purpose, Seen, Start};
use crate::core::{Core, Place};
use crate::error::{Abort, Cause, Full};
use crate::history::{ReadEvent, SeenVersion, WriteEvent, WriteKind};
use crate::write_set::{Change, Entry, NO_DATA};

/// What a procedure reads and writes through. After any operation has returned an error the
/// procedure must return it; what it does instead is not committed.
pub struct Transaction<'d, C: Protocol> {
    pub(crate) shared: &'d C,
    pub(crate) core: Core<'d>,
    pub(crate) local: C::Local,
    /// Why the attempt cannot commit any more.
    pub(crate) doomed: Option<Abort>,
    pub(crate) is_read_only: bool,
}

impl<C: Protocol> Transaction<'_, C> {
    #[inline(always)]
    pub(crate) fn begin(&mut self, start: Start) {
        self.doomed = None;
        self.is_read_only = start.is_read_only;
        if let Some(recorder) = &mut self.core.recorder {
            recorder.restart(self.core.worker);
        }
        self.shared.begin(&mut self.local, &mut self.core, start);
    }

    #[inline(always)]
    pub(crate) fn commit(&mut self) -> Result<(), Abort> {
        if let Some(abort) = self.doomed {
            return Err(abort);
        }
        if self.core.recorder.is_some() {
            return self.commit_recorded();
        }
        self.shared.commit(&mut self.local, &mut self.core).map(drop)
    }

    #[cold]
    fn commit_recorded(&mut self) -> Result<(), Abort> {
        let entries = self.core.writes.entries.iter().filter(|entry| entry.is_change());
        let events = entries.map(|entry| WriteEvent {
            table: TableId(entry.table as u8),
            key: entry.key,
            kind: match entry.change {
                Change::Delete => WriteKind::Delete,
                _ if entry.was_absent => WriteKind::Insert,
                _ => WriteKind::Update,
            },
        });
        let writes = events.collect();
        let tid = self.shared.commit(&mut self.local, &mut self.core)?;
        if let Some(recorder) = &mut self.core.recorder {
            recorder.running.writes = writes;
            recorder.commit(tid);
        }
        Ok(())
    }

    #[inline(always)]
    fn doom<T>(&mut self, result: Result<T, Abort>) -> Result<T, Abort> {
        if let Err(abort) = &result {
            self.doomed = Some(*abort);
        }
        result
    }

    #[inline(always)]
    fn check_size(&self, table: TableId, row: &[u8]) {
        let schema = &self.core.base.tables[usize::from(table.0)].schema;
        assert_eq!(row.len(), schema.row_bytes, "row size of table {}", schema.name);
    }

    fn row_missing(&self, table: TableId, key: u64) -> Abort {
        Cause::RowMissing { table, key }.into()
    }

    /// Where the index says that the row of a key is.
    #[inline(always)]
    fn look_up(&mut self, table: usize, key: u64) -> Result<Option<Place>, Abort> {
        let core = &mut self.core;
        core.index_look_ups += 1;
        let index = &core.base.tables[table].index;
        let nodes = if core.tracks_nodes { &mut core.nodes[table] } else { &mut core.ignored };
        match index.find(key, &mut core.caller, nodes) {
            None => Ok(None),
            Some(reference) => {
                let row = core.locate(reference)?;
                Ok(Some(Place { table, key, reference, row }))
            }
        }
    }

    #[inline(always)]
    fn try_read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, Abort> {
        self.check_size(table, row);
        let table = usize::from(table.0);
        if let Some(place) = self.core.writes.find(table, key) {
            return self.read_own(place, row);
        }
        if self.core.recorder.is_some() {
            return self.read_recorded(table, key, row);
        }
        self.read_indexed(table, key, row).map(|seen| matches!(seen, Seen::Present(_)))
    }

    #[inline(always)]
    fn read_indexed(&mut self, table: usize, key: u64, row: &mut [u8]) -> Result<Seen, Abort> {
        let mut round = 0;
        loop {
            let Some(place) = self.look_up(table, key)? else { return Ok(Seen::Absent) };
            match self.shared.read(&mut self.local, &mut self.core, &place, row)? {
                Seen::Dead => self.core.waits.pause(round),
                seen => return Ok(seen),
            }
            round += 1;
        }
    }

    #[cold]
    fn read_recorded(&mut self, table: usize, key: u64, row: &mut [u8]) -> Result<bool, Abort> {
        let id = TableId(table as u8);
        loop {
            let before = self.core.base.recorded_deletions.of(id, &(key..=key));
            let seen = self.read_indexed(table, key, row)?;
            if let Seen::Present(tid) = seen {
                self.note_read(id, key, SeenVersion::Row(tid));
                return Ok(true);
            }
            if let Some(snapshot) = self.shared.snapshot(&self.local) {
                self.note_read(id, key, SeenVersion::GoneAt(snapshot));
                return Ok(false);
            }
            if before == self.core.base.recorded_deletions.of(id, &(key..=key)) {
                let tid = before.first().map_or(0, |(_, tid)| *tid);
                self.note_read(id, key, SeenVersion::Gone(tid));
                return Ok(false);
            }
        }
    }

    pub(crate) fn note_read(&mut self, table: TableId, key: u64, version: SeenVersion) {
        if let Some(recorder) = &mut self.core.recorder {
            recorder.running.reads.push(ReadEvent { table, key, version });
        }
    }

    /// Reads a row of the write set.
    pub(crate) fn read_own(&mut self, place: usize, row: &mut [u8]) -> Result<bool, Abort> {
        let entry = self.core.writes.entries[place];
        match entry.change {
            Change::Put => {
                row.copy_from_slice(self.core.writes.bytes(&entry, row.len() / 8));
                Ok(true)
            }
            Change::Delete => Ok(false),
            Change::Held if C::HOLDS => {
                entry.row.copy_to(C::PREFIX, row);
                Ok(true)
            }
            Change::Held => {
                let Entry { table, key, reference, row: held, .. } = entry;
                let held = Place { table, key, reference, row: held };
                match self.shared.read(&mut self.local, &mut self.core, &held, row)? {
                    Seen::Present(tid) => {
                        self.note_read(TableId(table as u8), key, SeenVersion::Row(tid));
                        Ok(true)
                    }
                    Seen::Absent | Seen::Dead => Err(Cause::ReadChanged.into()),
                }
            }
        }
    }

    #[inline(always)]
    fn try_read_for_update(
        &mut self,
        table: TableId,
        key: u64,
        row: &mut [u8],
    ) -> Result<bool, Abort> {
        self.check_size(table, row);
        let id = table;
        let table = usize::from(table.0);
        if self.is_read_only || self.core.writes.find(table, key).is_some() {
            return self.try_read(id, key, row);
        }
        if !C::HOLDS {
            return self.read_and_remember(table, key, row);
        }
        let Some((place, header)) = self.claim_present(table, key)? else {
            return self.try_read(id, key, row);
        };
        place.row.copy_to(C::PREFIX, row);
        self.note_read(id, key, SeenVersion::Row(crate::tid::tid(header)));
        self.hold(&place, header, Change::Held, false);
        Ok(true)
    }

    /// Without locks: a read, and the place of the row for the write that will come.
    #[inline(always)]
    fn read_and_remember(&mut self, table: usize, key: u64, row: &mut [u8]) -> Result<bool, Abort> {
        let mut round = 0;
        while let Some(place) = self.look_up(table, key)? {
            match self.shared.read(&mut self.local, &mut self.core, &place, row)? {
                Seen::Dead => self.core.waits.pause(round),
                Seen::Absent => break,
                Seen::Present(tid) => {
                    self.note_read(TableId(table as u8), key, SeenVersion::Row(tid));
                    self.hold(&place, crate::tid::header(tid), Change::Held, false);
                    return Ok(true);
                }
            }
            round += 1;
        }
        if self.core.recorder.is_some() {
            return self.read_recorded(table, key, row);
        }
        Ok(false)
    }

    #[inline(always)]
    fn hold(&mut self, place: &Place, before: u64, change: Change, is_fresh: bool) {
        self.core.writes.push(Entry {
            key: place.key,
            row: place.row,
            reference: place.reference,
            before,
            data: NO_DATA,
            table: place.table,
            change,
            is_fresh,
            was_absent: is_fresh,
        });
    }

    /// Claims the row of a key; none if there is no such row.
    fn claim_present(&mut self, table: usize, key: u64) -> Result<Option<(Place, u64)>, Abort> {
        let mut round = 0;
        while let Some(place) = self.look_up(table, key)? {
            let (local, core) = (&mut self.local, &mut self.core);
            match self.shared.claim(local, core, &place, Purpose::Change)? {
                Claim::Present(header) => return Ok(Some((place, header))),
                Claim::Absent(_) => return Ok(None),
                Claim::Dead => self.core.waits.pause(round),
            }
            round += 1;
        }
        Ok(None)
    }

    /// The place in the write set of a row that must exist.
    #[inline(always)]
    fn own(&mut self, table: TableId, key: u64) -> Result<usize, Abort> {
        if self.is_read_only {
            return Err(Cause::WroteInReadOnly.into());
        }
        let index = usize::from(table.0);
        if let Some(place) = self.core.writes.find(index, key) {
            let is_gone = self.core.writes.entries[place].change == Change::Delete;
            return if is_gone { Err(self.row_missing(table, key)) } else { Ok(place) };
        }
        let Some((place, header)) = self.claim_present(index, key)? else {
            return Err(self.row_missing(table, key));
        };
        self.hold(&place, header, Change::Held, false);
        Ok(self.core.writes.entries.len() - 1)
    }

    #[inline(always)]
    fn try_write(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Abort> {
        self.check_size(table, row);
        let place = self.own(table, key)?;
        self.core.writes.put(place, row);
        Ok(())
    }

    fn try_delete(&mut self, table: TableId, key: u64) -> Result<(), Abort> {
        let place = self.own(table, key)?;
        self.core.writes.entries[place].change = Change::Delete;
        Ok(())
    }

    fn try_insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Abort> {
        self.check_size(table, row);
        if self.is_read_only {
            return Err(Cause::WroteInReadOnly.into());
        }
        let index = usize::from(table.0);
        if let Some(place) = self.core.writes.find(index, key) {
            if self.core.writes.entries[place].change != Change::Delete {
                return Err(Cause::KeyExists { table, key }.into());
            }
            self.core.writes.put(place, row);
            return Ok(());
        }
        let place = self.make_room(index, key)?;
        self.core.writes.put(place, row);
        Ok(())
    }

    /// Puts a row that is not there yet into the index, or claims a deleted one; its place in the
    /// write set.
    fn make_room(&mut self, table: usize, key: u64) -> Result<usize, Abort> {
        let (reference, row) = self.core.allocate(table)?;
        let before = self.shared.prepare(&self.local, row);
        row.key().store(key, assay_primitives::sync::Ordering::Relaxed);
        let fresh = Place { table, key, reference, row };
        let id = TableId(table as u8);
        let mut round = 0;
        let result = loop {
            match self.insert_key(&fresh) {
                Ok(true) => {
                    self.hold(&fresh, before, Change::Held, true);
                    return Ok(self.core.writes.entries.len() - 1);
                }
                Ok(false) => {}
                Err(abort) => break Err(abort),
            }
            match self.claim_for_insert(table, key) {
                Ok(Some((place, Claim::Absent(header)))) => {
                    self.hold(&place, header, Change::Held, false);
                    let place = self.core.writes.entries.len() - 1;
                    self.core.writes.entries[place].was_absent = true;
                    break Ok(place);
                }
                Ok(Some((_, Claim::Present(_)))) => {
                    break Err(Cause::KeyExists { table: id, key }.into());
                }
                Ok(Some((_, Claim::Dead)) | None) => self.core.waits.pause(round),
                Err(abort) => break Err(abort),
            }
            round += 1;
        };
        let bytes = self.core.table(table).bytes;
        // SAFETY: the row was allocated above, and nobody has seen it.
        unsafe { self.core.rows.release(id, reference, bytes) };
        result
    }

    fn insert_key(&mut self, place: &Place) -> Result<bool, Abort> {
        let core = &mut self.core;
        let index = &core.base.tables[place.table].index;
        let nodes = &mut core.nodes[place.table];
        index
            .insert(place.key, place.reference, &mut core.caller, nodes)
            .map_err(|_| Cause::Full(Full::Index(TableId(place.table as u8))).into())
    }

    fn claim_for_insert(
        &mut self,
        table: usize,
        key: u64,
    ) -> Result<Option<(Place, Claim)>, Abort> {
        let Some(place) = self.look_up(table, key)? else { return Ok(None) };
        let (local, core) = (&mut self.local, &mut self.core);
        let claim = self.shared.claim(local, core, &place, Purpose::Insert)?;
        Ok(Some((place, claim)))
    }
}

impl<C: Protocol> Tables for Transaction<'_, C> {
    type Abort = Abort;

    fn abort(&mut self, cause: AbortCause) -> Abort {
        let cause = match cause {
            AbortCause::Requested => Cause::Requested,
            AbortCause::RowMissing { table, key } => Cause::RowMissing { table, key },
        };
        let abort = Abort::from(cause);
        self.doomed = Some(abort);
        abort
    }

    #[inline(always)]
    fn read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, Abort> {
        let result = self.try_read(table, key, row);
        self.doom(result)
    }

    #[inline]
    fn read_for_update(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, Abort> {
        let result = self.try_read_for_update(table, key, row);
        self.doom(result)
    }

    #[inline]
    fn write(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Abort> {
        let result = self.try_write(table, key, row);
        self.doom(result)
    }

    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Abort> {
        let result = self.try_insert(table, key, row);
        self.doom(result)
    }

    fn delete(&mut self, table: TableId, key: u64) -> Result<(), Abort> {
        let result = self.try_delete(table, key);
        self.doom(result)
    }

    #[inline]
    fn announce(&mut self, table: TableId, keys: impl Iterator<Item = u64> + Clone) {
        keys.clone().for_each(|key| self.core.prefetch(table, key));
        keys.for_each(|key| self.core.prefetch_row(table, key));
    }

    fn scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(u64, &[u8]),
    ) -> Result<(), Abort> {
        let result = self.try_scan(table, keys, direction, limit, &mut visit);
        self.doom(result)
    }
}
