//! The transactional engine: every combination that is built keeps its data whole.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_engine::transactional::jobs::{Report, Tpcc, TradeDesk, Ycsb};
use assay_engine::transactional::{
    CcChoice, Combination, Demand, IndexChoice, Job, Setting, Sink, Store, Taken,
    TransactionalEngine, TransactionalParts, build,
};
use assay_engine::{DataCacheKind, Elision, EngineError};
use assay_index::IndexKind;
use assay_log::LogMode;
use assay_measure::Done;
use assay_plans::{PlanKind, Query, Rewrite, compile, hits_like};
use assay_primitives::{Clock, Hint, LockKind, PageMode};
use assay_workload::tables::{TableId, TableSchema, Tables};
use assay_workload::{Chooser, Mix, Parameters, Plan, tpcc, trade_desk};

const THREADS: usize = 2;
const BATCHES: usize = 400;

fn parts(combination: &Combination) -> Option<TransactionalParts> {
    let (IndexChoice::Of(index), CcChoice::Of(cc)) = (combination.index, combination.cc) else {
        return None;
    };
    Some(TransactionalParts {
        hint: Hint::None,
        lock: LockKind::Futex,
        elision: Elision::Off,
        elision_retries: 3,
        spin_limit: 100,
        padding: 64,
        pages: PageMode::Small,
        index,
        hash_cache: combination.hash_cache,
        cc,
        store: combination.store,
        data_cache: DataCacheKind::HyperClock,
        system_cache: DataCacheKind::OneLock,
        cache_partitions: 4,
        log: combination.log,
        repeat_every: 0,
    })
}

/// Loads, runs some requests on two threads, and checks.
fn run<J: Job + 'static>(parts: &TransactionalParts, job: J, has_waits: bool) -> Vec<Done> {
    let setting = Setting {
        threads: THREADS,
        has_waits,
        clock: Clock::calibrated(),
        log_folder: &std::env::temp_dir(),
    };
    let built = build(parts, job, setting).unwrap();
    let engine: &dyn TransactionalEngine = &*built.engine;
    engine.load(THREADS, &AtomicBool::new(false)).unwrap();
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let (mut session, mut ended) = (engine.session(thread).unwrap(), Vec::new());
                    (0..BATCHES).for_each(|_| session.execute(&mut ended).unwrap());
                    assert_eq!(session.counts().executed, ended.len() as u64);
                    ended
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(engine.faults().unwrap(), Vec::<String>::new(), "{parts:?}");
    assert!(ended.iter().all(|end| !end.is_error), "{parts:?}");
    ended
}

fn small_tpcc() -> Tpcc {
    let parameters = tpcc::Parameters {
        scale: tpcc::Scale::small(1),
        has_waits: false,
        ..tpcc::Parameters::standard(1, 7)
    };
    Tpcc::new(tpcc::Plan::new(parameters).unwrap(), 10_000)
}

fn desk(users: u16, think_ms: u64) -> TradeDesk {
    let parameters = trade_desk::Parameters {
        users,
        accounts: 50,
        instruments: 5,
        theta: 0.9,
        catalogue_share: 0.5,
        report_share: 0.1,
        trade_think_time: Duration::from_millis(think_ms),
        request_think_time: Duration::from_millis(think_ms),
        seed: 7,
    };
    let (prices, query) = (hits_like(7, 100), Query::sums("width", 3));
    let compiled = compile(PlanKind::Vectorised, Rewrite::Off, &query, prices.schema()).unwrap();
    let answers = compiled.run(&prices);
    let report = Report { plan: compiled.into(), prices, answers };
    TradeDesk::new(trade_desk::Plan::new(parameters).unwrap(), 10_000, report)
}

fn ycsb(mix: Mix) -> Ycsb {
    Ycsb::new(
        Plan::new(Parameters {
            mix,
            records: 2000,
            fields: 3,
            field_bytes: 20,
            chooser: Chooser::Scrambled10e10,
            theta: 0.99,
            operations: 100_000,
            max_scan: 20,
            seed: 7,
        })
        .unwrap(),
    )
}

fn combinations(demand: Demand) -> impl Iterator<Item = TransactionalParts> {
    let unlogged = Combination::listed(demand).filter(|listed| listed.log == LogMode::None);
    unlogged.filter_map(|combination| parts(&combination))
}

#[test]
fn tpcc_is_consistent_on_every_combination() {
    for parts in combinations(Demand::Transactions) {
        run(&parts, small_tpcc(), false);
    }
}

#[test]
fn the_trade_desk_keeps_its_invariants_on_every_combination() {
    for parts in combinations(Demand::Transactions) {
        run(&parts, desk(4, 0), false);
    }
}

#[test]
fn ycsb_keeps_every_record_whole_on_every_combination() {
    for mix in [Mix::A, Mix::D, Mix::F] {
        combinations(Demand::Rows).for_each(|parts| drop(run(&parts, ycsb(mix), false)));
    }
    combinations(Demand::Scans).for_each(|parts| drop(run(&parts, ycsb(Mix::E), false)));
}

#[test]
fn the_pages_of_a_hash_index_are_reported_with_those_of_the_rows() {
    let bytes = |index| {
        let parts = combinations(Demand::Rows)
            .find(|parts| parts.index == index && parts.store == Store::Memory && !parts.hash_cache)
            .unwrap();
        let setting = Setting {
            threads: THREADS,
            has_waits: false,
            clock: Clock::calibrated(),
            log_folder: &std::env::temp_dir(),
        };
        build(&parts, ycsb(Mix::C), setting).unwrap().memory().unwrap().bytes
    };
    // The least that an arena has.
    assert_eq!(bytes(IndexKind::Hash) - bytes(IndexKind::Latched), 2 << 20);
}

#[test]
fn every_mode_of_the_log_takes_commits() {
    let all = Combination::listed(Demand::Transactions);
    let logged: Vec<_> = all.filter(|listed| listed.log != LogMode::None).collect();
    for mode in LogMode::ALL.into_iter().filter(|mode| *mode != LogMode::None) {
        let parts = logged.iter().filter(|it| it.log == mode).find_map(parts).unwrap();
        let ended = run(&parts, desk(4, 0), false);
        assert!(!ended.is_empty());
    }
}

#[test]
fn users_who_wait_are_served_when_they_are_due_and_not_before() {
    let parts = combinations(Demand::Transactions).next().unwrap();
    let clock = Clock::calibrated();
    let begun = clock.ticks();
    let ended = run(&parts, desk(8, 20), true);
    assert!(!ended.is_empty());
    for end in ended {
        let since = end.since.unwrap();
        assert!(begun <= since && since <= end.end_ticks);
    }
}

/// Eight requests at a time, whose rows take a millisecond each to be found ahead.
struct SlowAhead(TableSchema);

impl Job for SlowAhead {
    type Terminal = ();
    type Input = ();
    const AHEAD: usize = 8;

    fn tables(&self) -> &[TableSchema] {
        std::slice::from_ref(&self.0)
    }

    fn capacity(&self, _: TableId) -> usize {
        1
    }

    fn is_scanned(&self, _: TableId) -> bool {
        false
    }

    fn kinds(&self) -> &[&'static str] {
        &["nothing"]
    }

    fn pieces(&self) -> usize {
        0
    }

    fn load(&self, _: usize, _: &mut Sink<'_>) -> Result<(), EngineError> {
        Ok(())
    }

    fn terminals(&self, threads: usize) -> usize {
        threads
    }

    fn terminal(&self, _: usize) {}

    fn take(&self, (): &mut ()) -> Result<Taken<()>, EngineError> {
        let (before, after) = (Duration::ZERO, Duration::ZERO);
        Ok(Taken { input: (), kind: 0, is_read_only: true, before, after })
    }

    fn first_row(&self, (): &()) -> Option<(TableId, u64)> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1) {}
        None
    }

    fn run<T: Tables>(&self, _: &mut T, (): &(), _: &mut Vec<u8>) -> Result<(), T::Abort> {
        Ok(())
    }

    fn faults<T: Tables>(&self, _: &mut T) -> Result<Vec<String>, T::Abort> {
        Ok(Vec::new())
    }
}

#[test]
fn what_is_done_ahead_for_many_requests_is_not_the_time_of_the_first() {
    let parts = combinations(Demand::Rows).next().unwrap();
    let clock = Clock::calibrated();
    let log_folder = &std::env::temp_dir();
    let setting = Setting { threads: 1, has_waits: false, clock, log_folder };
    let job = SlowAhead(TableSchema { id: TableId(0), name: "nothing", row_bytes: 8 });
    let built = build(&parts, job, setting).unwrap();
    let (mut session, mut ended) = (built.engine.session(0).unwrap(), Vec::new());
    let begun = clock.ticks();
    session.execute(&mut ended).unwrap();
    let took: Vec<u64> =
        ended.iter().map(|end| clock.ns_between(end.since.unwrap(), end.end_ticks)).collect();
    assert_eq!(took.len(), SlowAhead::AHEAD);
    // Twice a millisecond for each, which is borne by each.
    assert!(took.iter().all(|ns| *ns >= 1_900_000), "{took:?}");
    assert!(took[0] < took.iter().sum::<u64>() / 3, "{took:?}");
    let whole = clock.ns_between(begun, ended[7].end_ticks);
    assert!(took.iter().sum::<u64>() <= whole, "{took:?} of {whole}");
}
