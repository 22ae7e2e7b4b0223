//! Random transactions on few keys, recorded for the checker.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::thread;

use assay_transactions::history::Committed;
use assay_transactions::{Abort, ConcurrencyControl, Database, Failure, Transaction, WorkerCounts};
use assay_workload::tables::{AbortCause, Direction, TableId, Tables};

use crate::support::Random;

pub const TABLE: TableId = TableId(0);
pub const WORDS: usize = 3;

/// What transactions do.
#[derive(Clone, Copy)]
pub struct Mix {
    pub keys: u64,
    pub threads: u64,
    pub transactions: u64,
    /// Scans are possible.
    pub is_ordered: bool,
    /// Keys come and go.
    pub has_inserts: bool,
    /// Threads give the CPU away in the middle of transactions, so that these overlap.
    pub yields: bool,
    /// A mistake is switched on, after which a key that was missing may be there.
    pub is_mistaken: bool,
}

pub type Row = [u8; WORDS * 8];

fn row(value: u64) -> Row {
    let mut row = [0; WORDS * 8];
    row.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_ne_bytes()));
    row
}

fn assert_whole(row: &[u8]) {
    assert!(row.chunks_exact(8).all(|word| word == &row[..8]), "torn: {row:?}");
}

/// Loads every other key.
pub fn load<C: ConcurrencyControl>(database: &Database<C>, keys: u64) {
    let mut loader = database.load();
    (0..keys).step_by(2).for_each(|key| loader.row(TABLE, key, &row(key)).unwrap());
}

/// Transactions of several threads; what they did, and what they met.
pub fn run<C: ConcurrencyControl>(
    database: &Database<C>,
    mix: Mix,
    seed: u64,
) -> (Vec<Committed>, WorkerCounts) {
    let mut workers: Vec<_> = (0..mix.threads).map(|_| database.worker()).collect();
    workers.iter_mut().for_each(|worker| worker.record_history(true));
    let work = |mut worker: assay_transactions::Worker<'_, C>, thread: u64| {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (thread + 1));
        for number in 0..mix.transactions {
            let value = number << 8 | thread;
            let script = random.0;
            let is_reader = random.below(5) == 0;
            let result = if is_reader {
                worker.read_only(|tables| look(tables, mix, Random(script)))
            } else {
                worker.transact(|tables| change(tables, mix, value, Random(script)))
            };
            match result {
                Ok(()) | Err(Failure::Requested) => {}
                Err(Failure::KeyExists { .. } | Failure::RowMissing { .. }) if mix.is_mistaken => {}
                Err(failure) => panic!("{failure}"),
            }
        }
        (worker.take_history(), worker.counts())
    };
    let mut history = Vec::new();
    let mut counts = WorkerCounts::default();
    thread::scope(|scope| {
        let work = &work;
        let start = |(worker, thread)| scope.spawn(move || work(worker, thread));
        let running: Vec<_> = workers.into_iter().zip(0..).map(start).collect();
        for thread in running {
            let (done, met) = thread.join().unwrap();
            history.extend(done);
            counts.add(&met);
        }
    });
    (history, counts)
}

fn look<C: ConcurrencyControl>(
    tables: &mut Transaction<'_, C>,
    mix: Mix,
    mut random: Random,
) -> Result<(), Abort> {
    for _ in 0..3 {
        read_or_scan(tables, mix, &mut random)?;
    }
    Ok(())
}

fn read_or_scan<C: ConcurrencyControl>(
    tables: &mut Transaction<'_, C>,
    mix: Mix,
    random: &mut Random,
) -> Result<(), Abort> {
    let key = random.below(mix.keys);
    if mix.yields && random.below(8) == 0 {
        thread::yield_now();
    }
    if !mix.is_ordered || random.below(2) == 0 {
        let mut bytes = row(0);
        if tables.read(TABLE, key, &mut bytes)? {
            assert_whole(&bytes);
        }
        return Ok(());
    }
    let direction = if random.below(2) == 0 { Direction::Forward } else { Direction::Backward };
    let limit = [1, 2, usize::MAX][random.below(3) as usize];
    let keys = key..=key + random.below(5);
    tables.scan(TABLE, keys, direction, limit, |_, bytes| assert_whole(bytes))
}

fn change<C: ConcurrencyControl>(
    tables: &mut Transaction<'_, C>,
    mix: Mix,
    value: u64,
    mut random: Random,
) -> Result<(), Abort> {
    for _ in 0..1 + random.below(3) {
        read_or_scan(tables, mix, &mut random)?;
    }
    for _ in 0..1 + random.below(3) {
        let key = random.below(mix.keys);
        let mut bytes = row(0);
        let is_there = match random.below(2) {
            0 => tables.read_for_update(TABLE, key, &mut bytes)?,
            _ => tables.read(TABLE, key, &mut bytes)?,
        };
        match (is_there, random.below(3)) {
            (true, 0) if mix.has_inserts => tables.delete(TABLE, key)?,
            (true, _) => tables.write(TABLE, key, &row(value))?,
            (false, _) if mix.has_inserts => tables.insert(TABLE, key, &row(value))?,
            (false, _) => {}
        }
        if mix.yields && random.below(4) == 0 {
            thread::yield_now();
        }
    }
    if random.below(16) == 0 {
        return Err(tables.abort(AbortCause::Requested));
    }
    Ok(())
}
