//! Scans of a transaction: the index walks, this reads each row under concurrency control.

use std::ops::RangeInclusive;

use assay_index::NodeSet;
use assay_workload::tables::{Direction, TableId};

use crate::cc::{Protocol, Seen};
use crate::core::Place;
use crate::error::{Abort, Cause};
use crate::history::{ScanEvent, SeenVersion};
use crate::transaction::Transaction;

/// What a scan does with a key, its row, and the TID of the version; none for own writes.
type Visit<'a> = dyn FnMut(u64, &[u8], Option<u64>) + 'a;

impl<C: Protocol> Transaction<'_, C> {
    pub(crate) fn try_scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        visit: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Abort> {
        if self.core.recorder.is_some() {
            return self.scan_recorded(table, keys, direction, limit, visit);
        }
        self.scan_index(usize::from(table.0), keys, direction, limit, &mut |key, row, _| {
            visit(key, row);
        })
    }

    /// Visits rows with the TIDs of their versions; none for those of the write set.
    fn scan_index(
        &mut self,
        table: usize,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        if limit == 0 {
            return Ok(());
        }
        let base = self.core.base;
        // The index fills these while the visitor uses everything else of the worker.
        let tracks = self.core.tracks_nodes;
        let taken = if tracks { &mut self.core.nodes[table] } else { &mut self.core.ignored };
        let mut nodes = core::mem::replace(taken, NodeSet::untracked());
        let mut row = core::mem::take(&mut self.core.scanned);
        row.resize(base.tables[table].words * 8, 0);
        let mut left = limit;
        let mut outcome = Ok(());
        let mut caller = core::mem::replace(&mut self.core.caller, base.caller());
        let mut step = |key, reference| match self.scan_row(table, key, reference, &mut row) {
            Ok(None) => true,
            Ok(Some(tid)) => {
                visit(key, &row, tid);
                left -= 1;
                left > 0
            }
            Err(abort) => {
                outcome = Err(abort);
                false
            }
        };
        let index = &base.tables[table].index;
        let scanned = match direction {
            Direction::Forward => index.scan(keys, &mut caller, &mut nodes, &mut step),
            Direction::Backward => index.scan_back(keys, &mut caller, &mut nodes, &mut step),
        };
        let name = base.tables[table].schema.name;
        assert!(scanned.is_ok(), "table {name} has a hash index, which cannot be scanned");
        self.core.caller = caller;
        self.core.scanned = row;
        let taken = if tracks { &mut self.core.nodes[table] } else { &mut self.core.ignored };
        *taken = nodes;
        outcome
    }

    /// Reads a row that a scan found: none if it is not there, else its TID, unless it is of the
    /// write set.
    fn scan_row(
        &mut self,
        table: usize,
        key: u64,
        reference: u64,
        row: &mut [u8],
    ) -> Result<Option<Option<u64>>, Abort> {
        if let Some(own) = self.core.writes.find(table, key) {
            return Ok(self.read_own(own, row)?.then_some(None));
        }
        let located = self.core.locate(reference)?;
        let place = Place { table, key, reference, row: located };
        match self.shared.read(&mut self.local, &mut self.core, &place, row)? {
            Seen::Present(tid) => Ok(Some(Some(tid))),
            Seen::Absent => Ok(None),
            // The key has left the node that the scan saw; for a snapshot it was not there.
            Seen::Dead if self.core.tracks_nodes => Err(Cause::NodeChanged.into()),
            Seen::Dead => Ok(None),
        }
    }

    #[cold]
    fn scan_recorded(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        visit: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Abort> {
        let snapshot = self.shared.snapshot(&self.local);
        loop {
            let gone = self.core.base.recorded_deletions.of(table, &keys);
            let mut found: Vec<(u64, Option<u64>, Vec<u8>)> = Vec::new();
            self.scan_index(
                usize::from(table.0),
                keys.clone(),
                direction,
                limit,
                &mut |key, row, tid| found.push((key, tid, row.to_vec())),
            )?;
            if snapshot.is_none() && gone != self.core.base.recorded_deletions.of(table, &keys) {
                continue;
            }
            let last = found.last().filter(|_| found.len() == limit).map(|(key, ..)| *key);
            let keys = match (last, direction) {
                (None, _) => keys,
                (Some(last), Direction::Forward) => *keys.start()..=last,
                (Some(last), Direction::Backward) => last..=*keys.end(),
            };
            for (key, tid, row) in &found {
                if let Some(tid) = tid {
                    self.note_read(table, *key, SeenVersion::Row(*tid));
                }
                visit(*key, row);
            }
            let own = self.core.writes.entries.iter();
            let own = own.filter(|entry| entry.table == usize::from(table.0));
            let known = own.map(|entry| entry.key).chain(found.iter().map(|(key, ..)| *key));
            let known = known.collect();
            if let Some(recorder) = &mut self.core.recorder {
                recorder.running.scans.push(ScanEvent { table, keys, known, gone, snapshot });
            }
            return Ok(());
        }
    }
}
