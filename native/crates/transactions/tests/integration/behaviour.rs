//! What callers rely on beyond serialisability: snapshots, failures, memory, counts.

use assay_index::IndexKind;
use assay_transactions::{
    ConcurrencyControl, Database, Failure, Full, MultiVersion, Options, TableOptions,
    TransactionError,
};
use assay_workload::tables::{AbortCause, Direction, TableId, TableSchema, Tables};

const TABLE: TableId = TableId(0);
type Row = [u8; 8];

fn row(value: u64) -> Row {
    value.to_le_bytes()
}

fn database<C: ConcurrencyControl>(index: IndexKind, rows: u64) -> Database<C> {
    let database = crate::support::database(&crate::support::schemas(1, 1), index);
    let mut loader = database.load();
    (0..rows).for_each(|key| loader.row(TABLE, key, &row(key)).unwrap());
    drop(loader);
    database
}

#[test]
fn a_declared_reader_sees_one_snapshot_while_others_change_and_delete() {
    let database = database::<MultiVersion>(IndexKind::Optimistic, 10);
    let (mut reader, mut writer) = (database.worker(), database.worker());
    let sum = reader.read_only(|tables| {
        for round in 0..300_u64 {
            writer
                .transact(|tables| {
                    tables.write(TABLE, 0, &row(round + 100))?;
                    if round % 2 == 0 {
                        tables.delete(TABLE, 9)
                    } else {
                        tables.insert(TABLE, 9, &row(7))
                    }
                })
                .unwrap();
            if round % 50 == 0 {
                let mut seen = Vec::new();
                let all = usize::MAX;
                tables.scan(TABLE, 0..=99, Direction::Forward, all, |key, bytes| {
                    seen.push((key, u64::from_le_bytes(bytes.try_into().unwrap())));
                })?;
                assert!(seen.into_iter().eq((0..10).map(|key| (key, key))), "not the snapshot");
            }
        }
        Ok(())
    });
    sum.unwrap();
    assert_eq!(reader.counts().aborts.total(), 0);
    assert!(reader.counts().old_versions_read > 0);
    // The reader has held back every version; now they are collected.
    let held = writer.counts().garbage;
    assert!(held >= 300, "{held}");
    reader.read_only(|_| Ok(())).unwrap();
    for round in 0..130 {
        writer.transact(|tables| tables.write(TABLE, 1, &row(round))).unwrap();
        reader.read_only(|_| Ok(())).unwrap();
    }
    assert!(writer.counts().garbage < 140, "{}", writer.counts().garbage);
}

#[test]
fn a_resting_worker_holds_no_memory_back() {
    let database = database::<MultiVersion>(IndexKind::Hash, 10);
    let (mut idle, mut writer) = (database.worker(), database.worker());
    idle.read_only(|_| Ok(())).unwrap();
    for round in 0..500 {
        writer.transact(|tables| tables.write(TABLE, 1, &row(round))).unwrap();
    }
    assert!(writer.counts().garbage > 400);
    idle.rest();
    for round in 0..100 {
        writer.transact(|tables| tables.write(TABLE, 1, &row(round))).unwrap();
    }
    assert!(writer.counts().garbage < 100);
    assert!(idle.read_only(|tables| tables.read(TABLE, 1, &mut row(0))).unwrap());
}

fn memory_is_reused<C: ConcurrencyControl>(index: IndexKind) {
    let database = database::<C>(index, 0);
    let mut worker = database.worker();
    for key in 0..200_000_u64 {
        let key = key % 1000;
        worker.transact(|tables| tables.insert(TABLE, key, &row(key))).unwrap();
        worker.transact(|tables| tables.delete(TABLE, key)).unwrap();
    }
    assert!(database.row_memory_bytes() <= 4 << 20, "{}", C::KIND.name());
}

#[test]
fn keys_that_come_and_go_reuse_memory() {
    for index in [IndexKind::Optimistic, IndexKind::Hash] {
        every_kind!(memory_is_reused(index));
    }
}

/// A deleted row is taken out of the index by who deleted it, some time later. By then others may have
/// put the row back, deleted it again and reused its memory for an old version of another row that
/// the same transaction deleted: what lies there has the header that the late one looks for.
#[test]
fn a_late_collector_leaves_rows_alone_that_others_put_back() {
    const FIRST: u64 = 256;
    const KEYS: u64 = 1600;
    for index in [IndexKind::Optimistic, IndexKind::Latched, IndexKind::Hash] {
        let database = database::<MultiVersion>(index, KEYS);
        let (mut late, mut other) = (database.worker(), database.worker());
        let (first, second) = (0..FIRST, FIRST..KEYS);
        late.transact(|tables| (0..KEYS).try_for_each(|key| tables.delete(TABLE, key))).unwrap();
        late.rest();
        for key in first.clone() {
            other.transact(|tables| tables.insert(TABLE, key, &row(1))).unwrap();
            other.transact(|tables| tables.delete(TABLE, key)).unwrap();
        }
        for _ in 0..FIRST {
            other.read_only(|_| Ok(())).unwrap();
        }
        // Holds the old versions that come now.
        let mut reader = database.worker();
        reader.read_only(|_| Ok(())).unwrap();
        for key in second.chain(first.clone()) {
            other.transact(|tables| tables.insert(TABLE, key, &row(key))).unwrap();
        }
        for _ in 0..FIRST {
            late.read_only(|_| Ok(())).unwrap();
        }
        for key in 0..KEYS {
            let mut seen = row(0);
            let is_there = reader.read_only(|tables| tables.read(TABLE, key, &mut seen)).unwrap();
            assert!(is_there && seen == row(key), "key {key} over {}", index.name());
        }
    }
}

#[test]
#[should_panic(expected = "row size of table numbers")]
fn a_quiescent_read_refuses_a_buffer_that_is_longer_than_the_row() {
    let database = database::<MultiVersion>(IndexKind::Hash, 1);
    let _ = database.quiescent().read(TABLE, 0, &mut [0; 64]);
}

fn failures<C: ConcurrencyControl>() {
    let database = database::<C>(IndexKind::Hash, 3);
    let mut worker = database.worker();
    let exists = worker.transact(|tables| tables.insert(TABLE, 2, &row(0)));
    assert!(matches!(exists, Err(Failure::KeyExists { table: TABLE, key: 2 })));
    let missing = worker.transact(|tables| tables.write(TABLE, 9, &row(0)));
    assert!(matches!(missing, Err(Failure::RowMissing { table: TABLE, key: 9 })));
    let missing = worker.transact(|tables| tables.delete(TABLE, 9));
    assert!(matches!(missing, Err(Failure::RowMissing { .. })));
    let wanted = worker.transact(|tables| {
        tables.write(TABLE, 1, &row(99))?;
        tables.insert(TABLE, 7, &row(99))?;
        Err::<(), _>(tables.abort(AbortCause::Requested))
    });
    assert!(matches!(wanted, Err(Failure::Requested)));
    let wrote = worker.read_only(|tables| tables.write(TABLE, 1, &row(5)));
    assert!(matches!(wrote, Err(Failure::WroteInReadOnly)));
    let swallowed = worker.transact(|tables| {
        let _ = tables.insert(TABLE, 2, &row(0));
        tables.write(TABLE, 1, &row(77))
    });
    assert!(matches!(swallowed, Err(Failure::KeyExists { .. })));
    let mut seen = row(0);
    assert!(worker.transact(|tables| tables.read(TABLE, 1, &mut seen)).unwrap());
    assert_eq!(seen, row(1), "{}: all of these were rolled back", C::KIND.name());
    assert!(!worker.transact(|tables| tables.read(TABLE, 7, &mut seen)).unwrap());
    let aborts = worker.counts().aborts;
    assert_eq!(
        (aborts.key_exists, aborts.row_missing, aborts.requested, aborts.failed),
        (2, 2, 1, 1)
    );
}

#[test]
fn what_cannot_succeed_fails_once_with_its_reason_and_leaves_nothing() {
    every_kind!(failures());
}

fn panics<C: ConcurrencyControl>() {
    let database = database::<C>(IndexKind::Optimistic, 3);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut worker = database.worker();
        worker.transact(|tables| {
            tables.write(TABLE, 1, &row(9))?;
            tables.insert(TABLE, 5, &row(9))?;
            tables.read(TABLE, 2, &mut row(0))?;
            std::panic::resume_unwind(Box::new("the procedure panics"));
            #[expect(unreachable_code, reason = "gives the closure its type")]
            Ok(())
        })
    }));
    assert!(result.is_err());
    let mut worker = database.worker();
    worker.transact(|tables| tables.write(TABLE, 1, &row(3))).unwrap();
    worker.transact(|tables| tables.insert(TABLE, 5, &row(3))).unwrap();
    worker.transact(|tables| tables.delete(TABLE, 2)).unwrap();
}

#[test]
fn a_procedure_that_panics_leaves_no_lock_behind() {
    every_kind!(panics());
}

fn index_full<C: ConcurrencyControl>() {
    let schema = TableSchema { id: TABLE, name: "small", row_bytes: 8 };
    let table = TableOptions { schema, index: IndexKind::Hash, capacity: 16 };
    let database = Database::<C>::new(Options::new(vec![table], crate::support::clock())).unwrap();
    let mut worker = database.worker();
    let mut add = |key| worker.transact(|tables| tables.insert(TABLE, key, &row(key)));
    let failed = (0..1000).find_map(|key| add(key).err()).unwrap();
    assert!(matches!(failed, Failure::Full(Full::Index(TABLE))), "{failed}");
}

#[test]
fn a_full_index_is_a_failure() {
    every_kind!(index_full());
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let schema = TableSchema { id: TableId(1), name: "odd", row_bytes: 8 };
    let table = TableOptions { schema, index: IndexKind::Hash, capacity: 16 };
    let refused = |table| {
        let database =
            Database::<MultiVersion>::new(Options::new(vec![table], crate::support::clock()));
        matches!(database, Err(TransactionError::Options(_)))
    };
    assert!(refused(table), "out of place");
    let schema = TableSchema { id: TABLE, ..schema };
    assert!(!refused(TableOptions { schema, ..table }));
    assert!(refused(TableOptions { schema, capacity: 0, ..table }));
    assert!(refused(TableOptions { schema: TableSchema { row_bytes: 12, ..schema }, ..table }));
}
