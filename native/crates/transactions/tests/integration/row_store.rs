//! Rows behind a row store: the seam holds for every kind.

use assay_index::{Caller, IndexKind, NodeSet};
use assay_primitives::locks::Waiting;
use assay_primitives::{AnyLockContext, Hint, LockKind, PageMode};
use assay_transactions::{
    ConcurrencyControl, Database, Failure, Full, MemoryRows, NoWait, RowStore, Rows, checker,
};
use assay_workload::tables::Tables;

use crate::pages::MovingRows;
use crate::stress::{Mix, TABLE, WORDS};

fn stored<C: ConcurrencyControl>(store: impl RowStore + 'static) -> Database<C> {
    let mut options =
        crate::support::options(&crate::support::schemas(1, WORDS), IndexKind::Optimistic);
    options.rows =
        Rows::Store { store: Box::new(store), versions: MemoryRows::new(PageMode::Small) };
    Database::new(options).unwrap()
}

fn serialisable<C: ConcurrencyControl>() {
    let database = stored::<C>(MovingRows::new(10_000));
    let mix = Mix {
        keys: 12,
        threads: 3,
        transactions: 1000,
        is_ordered: true,
        has_inserts: true,
        yields: false,
        is_mistaken: false,
    };
    crate::stress::load(&database, mix.keys);
    let (history, counts) = crate::stress::run(&database, mix, 3);
    let loaded = (0..mix.keys).step_by(2).map(|key| (TABLE, key));
    assert_eq!(checker::check(loaded, &history), Ok(()), "{}", C::KIND.name());
    assert!(counts.row_look_ups > 3000);
}

#[test]
fn rows_that_move_between_transactions_are_serialisable_too() {
    every_kind!(serialisable());
}

fn full<C: ConcurrencyControl>() {
    let database = stored::<C>(MovingRows::new(2));
    let mut worker = database.worker();
    let row = [1; WORDS * 8];
    worker.transact(|tables| tables.insert(TABLE, 1, &row)).unwrap();
    let failed = worker.transact(|tables| {
        tables.insert(TABLE, 2, &row)?;
        tables.insert(TABLE, 3, &row)
    });
    assert!(matches!(failed, Err(Failure::Full(Full::Rows(_)))), "{}", C::KIND.name());
    let mut found = [0; WORDS * 8];
    let seen = worker.transact(|tables| {
        Ok((tables.read(TABLE, 1, &mut found)?, tables.read(TABLE, 2, &mut [0; WORDS * 8])?))
    });
    assert_eq!((seen.unwrap(), found), ((true, false), row));
}

#[test]
fn a_full_store_fails_the_transaction_and_leaves_nothing_of_it() {
    every_kind!(full());
}

#[test]
fn an_index_that_is_not_empty_is_refused() {
    let schemas = crate::support::schemas(1, WORDS);
    let mut options = crate::support::options(&schemas, IndexKind::Hash);
    let index = assay_index::build(IndexKind::Hash, LockKind::Ttas, 8);
    let waiting = Waiting::new(LockKind::Ttas, Hint::None, 1, options.clock).unwrap();
    let caller = &mut Caller::new(AnyLockContext::new(waiting));
    assert!(index.insert(7, 4096, caller, &mut NodeSet::untracked()).unwrap());
    options.indexes = vec![index];
    let refused = Database::<NoWait>::new(options).err().unwrap().to_string();
    assert!(refused.contains("1 entries"), "{refused}");
}
