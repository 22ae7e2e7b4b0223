//! Prints TPC-C transactions per second of every kind of concurrency control, without a log and
//! without waits: `tpcc_rate [warehouses] [seconds]`. One warehouse per thread by default. A rough
//! number for development, not a measurement; TPC-C rules do not apply.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example for developers")]

use std::time::{Duration, Instant};

use assay_index::IndexKind;
use assay_primitives::{Clock, PageMode};
use assay_transactions::{
    ConcurrencyControl, Database, Failure, MemoryRows, MultiVersion, NoWait, Optimistic, Options,
    Rows, TableOptions, WaitDie, WorkerCounts,
};
use assay_workload::tpcc::{Home, Parameters, Plan, Scale, Selection, TABLES, run};

fn database<C: ConcurrencyControl>(plan: &Plan, clock: Clock) -> Database<C> {
    let table = |schema| TableOptions { schema, index: IndexKind::Optimistic, capacity: 0 };
    let mut options = Options::new(TABLES.iter().copied().map(table).collect(), clock);
    options.rows = Rows::Memory(MemoryRows::new(PageMode::Transparent));
    let database = Database::new(options).unwrap();
    let mut loader = database.load();
    plan.load_items(|table, key, row| loader.row(table, key, row).unwrap());
    for warehouse in 1..=plan.parameters().scale.warehouses {
        plan.load_warehouse(warehouse, |table, key, row| loader.row(table, key, row).unwrap());
    }
    drop(loader);
    database
}

fn measure<C: ConcurrencyControl>(plan: &Plan, clock: Clock, threads: u16, time: Duration) {
    let database = database::<C>(plan, clock);
    let start = Instant::now();
    let mut sum = WorkerCounts::default();
    let work = |thread: u16| {
        let mut stream = plan.stream(thread.into());
        let mut worker = database.worker();
        while start.elapsed() < time {
            for _ in 0..32 {
                let input = stream.take().input;
                match worker.transact(|tables| run(tables, &input)) {
                    Ok(_) | Err(Failure::Requested) => {}
                    Err(failure) => panic!("{failure}"),
                }
            }
        }
        worker.counts()
    };
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        running.into_iter().for_each(|thread| sum.add(&thread.join().unwrap()));
    });
    let rate = sum.commits as f64 / start.elapsed().as_secs_f64();
    let aborts: Vec<_> = sum.aborts.named().into_iter().filter(|(_, count)| *count > 0).collect();
    println!("{:14} {threads} threads {rate:9.0} commits/s, aborts {aborts:?}", C::KIND.name());
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let warehouses = number(2) as u16;
    let time = Duration::from_secs(number(3));
    let plan = Plan::new(Parameters {
        scale: Scale::standard(warehouses),
        selection: Selection::Deck,
        home: Home::Fixed,
        has_waits: false,
        seed: 1,
    })
    .unwrap();
    println!("{}, without waits", plan.parameters().scale.label());
    let clock = Clock::calibrated();
    for threads in [1, 2] {
        measure::<NoWait>(&plan, clock, threads, time);
        measure::<WaitDie>(&plan, clock, threads, time);
        measure::<Optimistic>(&plan, clock, threads, time);
        measure::<MultiVersion>(&plan, clock, threads, time);
    }
}
