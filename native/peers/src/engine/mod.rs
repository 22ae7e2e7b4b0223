//! The engine under test: one operation is one transaction of `assay-transactions`.
//!
//! Rows are whole words, so a record of 100 bytes has four bytes of nothing behind it. Pages are of
//! 4 KiB as in everybody's heap, and there is no log.

mod tpcc;

use anyhow::{Result, bail};
use assay_index::IndexKind;
use assay_primitives::{Clock, PageMode};
use assay_transactions::{
    ConcurrencyControl, Database, Failure, MemoryRows, MultiVersion, NoWait, Optimistic, Options,
    Rows, TableOptions, Transaction, Worker,
};
use assay_workload::tables::{TableId, TableSchema, Tables};
use assay_workload::{Operation, Values};

use crate::contestants::{Class, Contestant};
use crate::peer::{AHEAD, Field, Peer, Records, Session, Setup, Shape};

pub use tpcc::entries as tpcc_entries;

const TABLE: TableId = TableId(0);
/// Keys beside those loaded, for the check's look-up of one that is not there.
const SPARE_KEYS: usize = 1024;

/// Every configuration of the engine that races. The first is the one that goals are about.
pub fn configurations() -> Vec<Contestant> {
    const BATCH: &str = "the same, but told sixteen operations at a time, so that it fetches ahead";
    let configuration = |name, settings, open| Contestant {
        name,
        class: Class::Transactional,
        threads_max: usize::MAX,
        has_background: false,
        settings,
        open,
    };
    vec![
        configuration("engine-hash-optimistic", "hash index, optimistic, no log", |setup| {
            open::<Optimistic>(setup, IndexKind::Hash, 1)
        }),
        configuration("engine-hash-optimistic-batch", BATCH, |setup| {
            open::<Optimistic>(setup, IndexKind::Hash, AHEAD)
        }),
        configuration(
            "engine-tree-optimistic",
            "B+tree with optimistic lock coupling, optimistic, no log",
            |setup| open::<Optimistic>(setup, IndexKind::Optimistic, 1),
        ),
        configuration(
            "engine-latched-no-wait",
            "B+tree with a latch per node, two-phase locking without waiting, no log",
            |setup| open::<NoWait>(setup, IndexKind::Latched, 1),
        ),
        configuration(
            "engine-tree-multi-version",
            "B+tree with optimistic lock coupling, multi-version, reads declared, no log",
            |setup| open::<MultiVersion>(setup, IndexKind::Optimistic, 1),
        ),
    ]
}

struct Engine<C: ConcurrencyControl> {
    database: Database<C>,
    shape: Shape,
    ahead: usize,
}

fn open<C>(setup: &Setup, index: IndexKind, ahead: usize) -> Result<Box<dyn Peer>>
where
    C: ConcurrencyControl + 'static,
{
    let shape = setup.shape;
    let schema = TableSchema { id: TABLE, name: "records", row_bytes: shape.copy_bytes() };
    let capacity = shape.records as usize + SPARE_KEYS;
    let table = TableOptions { schema, index, capacity };
    let database = Database::<C>::new(Options {
        // As everybody's.
        rows: Rows::Memory(MemoryRows::new(PageMode::Small)),
        ..Options::new(vec![table], Clock::calibrated())
    })?;
    Ok(Box::new(Engine { database, shape, ahead }))
}

impl<C: ConcurrencyControl> Peer for Engine<C> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut EngineSession {
            worker: self.database.worker(),
            row: vec![0; self.shape.copy_bytes()],
            record_bytes: self.shape.record_bytes(),
            ahead: self.ahead,
        })
    }

    fn load(&self, records: &Records<'_>) -> Result<()> {
        let (mut loader, mut row) = (self.database.load(), vec![0; self.shape.copy_bytes()]);
        records.each(|key, record| {
            row[..record.len()].copy_from_slice(record);
            Ok(loader.row(TABLE, key, &row)?)
        })
    }
}

struct EngineSession<'a, C: ConcurrencyControl> {
    worker: Worker<'a, C>,
    /// A row to be written, with nothing behind the record.
    row: Vec<u8>,
    record_bytes: usize,
    ahead: usize,
}

/// Whether the record was there; other failures are the race's.
#[inline]
fn is_found(outcome: Result<bool, Failure>) -> Result<bool> {
    match outcome {
        Ok(found) => Ok(found),
        Err(Failure::RowMissing { .. }) => Ok(false),
        Err(failure) => bail!(failure),
    }
}

impl<C: ConcurrencyControl> Session for EngineSession<'_, C> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        is_found(self.worker.read_only(|transaction| transaction.read(TABLE, key, copy)))
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let row = self.row.as_mut_slice();
        if field.is_whole(self.record_bytes) {
            field.write_to(row);
            let write = |transaction: &mut Transaction<'_, C>| transaction.write(TABLE, key, row);
            return is_found(self.worker.transact(write).map(|()| true));
        }
        is_found(self.worker.transact(|transaction| {
            if !transaction.read_for_update(TABLE, key, row)? {
                return Ok(false);
            }
            field.write_to(row);
            transaction.write(TABLE, key, row)?;
            Ok(true)
        }))
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let row = self.row.as_mut_slice();
        row[..record.len()].copy_from_slice(record);
        Ok(self.worker.transact(|transaction| transaction.insert(TABLE, key, row))?)
    }

    fn execute(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let mut missed = 0;
        for operations in batch.chunks(self.ahead) {
            if self.ahead > 1 {
                for operation in operations {
                    self.worker.prefetch(TABLE, operation.key);
                }
                for operation in operations {
                    self.worker.prefetch_row(TABLE, operation.key);
                }
            }
            for operation in operations {
                missed += usize::from(!self.operate(operation, values, copy)?);
            }
        }
        Ok(missed)
    }
}
