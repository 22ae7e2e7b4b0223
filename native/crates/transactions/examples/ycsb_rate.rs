//! Prints single-row transactions per second (YCSB C and A: 1 million rows of 104 bytes, uniform or
//! scrambled keys drawn beforehand, hash index, rows in memory) of every kind of concurrency
//! control, on 1 and 2 threads: `ycsb_rate [seconds]`. A rough number for development, not a
//! measurement.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example for developers")]

use std::time::{Duration, Instant};

use assay_index::IndexKind;
use assay_primitives::{Clock, PageMode};
use assay_random::Random;
use assay_transactions::{
    ConcurrencyControl, Database, MemoryRows, MultiVersion, NoWait, Optimistic, Options, Rows,
    TableOptions, WaitDie,
};
use assay_workload::tables::{TableId, TableSchema, Tables};

const KEYS: u64 = 1_000_000;
const ROW_BYTES: usize = 104;
const TABLE: TableId = TableId(0);
const DRAWN: usize = 1 << 18;

fn database<C: ConcurrencyControl>(clock: Clock) -> Database<C> {
    let schema = TableSchema { id: TABLE, name: "usertable", row_bytes: ROW_BYTES };
    let table = TableOptions { schema, index: IndexKind::Hash, capacity: KEYS as usize };
    let mut options = Options::new(vec![table], clock);
    options.rows = Rows::Memory(MemoryRows::new(PageMode::Transparent));
    let database = Database::new(options).unwrap();
    let mut loader = database.load();
    (0..KEYS).for_each(|key| loader.row(TABLE, key, &[key as u8; ROW_BYTES]).unwrap());
    drop(loader);
    database
}

fn measure<C: ConcurrencyControl>(clock: Clock, time: Duration) {
    let database = database::<C>(clock);
    for (name, read_percent) in [("C", 100), ("A", 50)] {
        for threads in [1, 2] {
            let work = |thread: u64| {
                let mut random = Random::new(7, thread);
                let keys: Vec<u64> = (0..DRAWN).map(|_| random.below(KEYS)).collect();
                let reads: Vec<bool> =
                    (0..DRAWN).map(|_| random.below(100) < read_percent).collect();
                let mut worker = database.worker();
                let mut row = [0; ROW_BYTES];
                let (start, mut done) = (Instant::now(), 0_u64);
                while start.elapsed() < time {
                    for (key, is_read) in keys.iter().zip(&reads).take(1 << 14) {
                        let result = if *is_read {
                            worker.transact(|tables| tables.read(TABLE, *key, &mut row))
                        } else {
                            worker.transact(|tables| tables.write(TABLE, *key, &row).map(|()| true))
                        };
                        done += u64::from(result.unwrap());
                    }
                }
                std::hint::black_box(row);
                let met = worker.counts();
                (done as f64 / start.elapsed().as_secs_f64(), met.retries, met.row_locks.waits)
            };
            let (mut rate, mut retries, mut waits) = (0.0, 0, 0);
            std::thread::scope(|scope| {
                let work = &work;
                let running: Vec<_> =
                    (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
                for thread in running {
                    let (own, tried_again, waited) = thread.join().unwrap();
                    rate += own;
                    retries += tried_again;
                    waits += waited;
                }
            });
            let kind = C::KIND.name();
            println!(
                "{name}{threads} {kind:14} {:7.2} M/s, {retries} retries, {waits} waits",
                rate / 1e6
            );
        }
    }
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(1, |text| text.parse().expect("a number"));
    let (clock, time) = (Clock::calibrated(), Duration::from_secs(seconds));
    measure::<MultiVersion>(clock, time);
    measure::<NoWait>(clock, time);
    measure::<WaitDie>(clock, time);
    measure::<Optimistic>(clock, time);
}
