//! The engine against an obvious twin on one thread, and whole after every mix on many.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use assay_engine::{
    Configuration, DataCacheKind, Elision, Engine, EngineError, Parts, PoolCounts, Session,
    registry,
};
use assay_measure::Done;
use assay_primitives::htm::{self, HtmState};
use assay_primitives::{Clock, Hint, LockKind, PageMode, PrimitiveError};
use assay_workload::hash::fnv1a_64;
use assay_workload::{Chooser, Mix, OperationKind, Parameters, Plan, Stream};

const PARTS: Parts = Parts {
    hint: Hint::None,
    lock: LockKind::Ttas,
    elision: Elision::Off,
    elision_retries: 3,
    spin_limit: 64,
    padding: 0,
    data_cache: DataCacheKind::OneLock,
    cache_partitions: 4,
    cache_share: 100,
    pages: PageMode::Small,
};

fn plan(mix: Mix, records: u64) -> Plan {
    Plan::new(Parameters {
        mix,
        records,
        fields: 3,
        field_bytes: 20,
        chooser: Chooser::Exact,
        theta: 0.9,
        operations: 400_000,
        max_scan: 20,
        seed: 5,
    })
    .unwrap()
}

fn loaded(parts: Parts, plan: &Plan, threads: usize) -> Box<dyn Engine> {
    let clock = Clock::calibrated();
    let engine = registry::build(&Configuration { parts, plan, sessions: 2 * threads, clock });
    let engine = engine.unwrap();
    engine.load(threads, &AtomicBool::new(false)).unwrap();
    engine
}

/// Operations of a batch.
const BATCH: usize = 16;

/// Carries out a batch.
fn execute(session: &mut dyn Session, stream: &mut Stream) -> Result<Vec<Done>, EngineError> {
    let mut done = Vec::new();
    session.execute(stream, BATCH, &mut done)?;
    Ok(done)
}

type Twin = BTreeMap<u64, Vec<Vec<u8>>>;

fn contents(engine: &dyn Engine) -> Twin {
    let mut twin = Twin::new();
    engine.visit(&mut |key, fields| {
        let fields = fields.expect("every row is whole");
        twin.insert(key, fields.iter().map(|field| field.to_vec()).collect());
    });
    twin
}

/// Two plans of the same seed: one drives the engine, the other the twin.
fn follow(mix: Mix, parts: Parts, make_plan: fn(Mix) -> Plan) -> PoolCounts {
    let (driven, told) = (make_plan(mix), make_plan(mix));
    let engine = loaded(parts, &driven, 1);
    let (records, fields) = (told.parameters().records, told.parameters().fields);
    let initial = |key| {
        let field = |field| told.values().initial(key, field).to_vec();
        (0..fields).map(field).collect::<Vec<_>>()
    };
    let mut twin: Twin = (0..records).map(fnv1a_64).map(|key| (key, initial(key))).collect();
    assert_eq!(contents(&*engine), twin, "loaded");

    let (mut session, mut stream) = (engine.session(), driven.stream(0, 0));
    let mut twin_stream = told.stream(0, 0);
    let places = told.places();
    for _ in 0..200 {
        for end in execute(&mut *session, &mut stream).unwrap() {
            let operation = twin_stream.take().unwrap();
            assert_eq!((end.kind, end.is_error), (places[operation.kind as usize], false));
            let field = usize::from(operation.field);
            match operation.kind {
                OperationKind::Update | OperationKind::ReadModifyWrite => {
                    let fields = twin.get_mut(&operation.key).unwrap();
                    fields[field] = twin_stream.value(&operation).to_vec();
                }
                OperationKind::Insert => {
                    twin.insert(operation.key, initial(operation.key));
                    twin_stream.acknowledge(&operation);
                }
                OperationKind::Read | OperationKind::Scan => {}
            }
        }
    }
    assert_eq!(contents(&*engine), twin, "{mix:?} with {parts:?}");
    assert!(engine.state().is_sound);
    session.counts().pool
}

#[test]
fn one_thread_leaves_what_a_map_would_hold() {
    for mix in Mix::ALL {
        for data_cache in DataCacheKind::ALL {
            follow(mix, Parts { data_cache, ..PARTS }, |mix| plan(mix, 500));
        }
    }
}

/// Rows of a kilobyte, fifteen a page.
fn wide_plan(mix: Mix, records: u64) -> Plan {
    let (fields, field_bytes, operations) = (10, 100, 20_000);
    let narrow = plan(mix, records);
    let wide = Parameters { fields, field_bytes, operations, ..narrow.parameters().clone() };
    Plan::new(wide).unwrap()
}

#[test]
fn a_cache_that_evicts_leaves_what_a_map_would_hold() {
    for data_cache in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        for mix in Mix::ALL {
            let run = |cache_share| {
                let parts = Parts { data_cache, cache_share, ..PARTS };
                follow(mix, parts, |mix| wide_plan(mix, 600))
            };
            let (all, half, tenth) = (run(100), run(50), run(10));
            let none = PoolCounts { hits: all.hits, ..PoolCounts::default() };
            assert_eq!(all, none, "{mix:?} with {data_cache:?}");
            assert_eq!(half.hits + half.misses, all.hits);
            assert!(0 < half.misses && half.misses < tenth.misses, "{half:?} {tenth:?}");
            assert!(tenth.write_backs <= tenth.evictions);
            let writes = !matches!(mix, Mix::C);
            assert_eq!(tenth.write_backs > 0, writes, "{mix:?}: {tenth:?}");
        }
    }
}

fn run_concurrently(parts: Parts, plan: &Plan, threads: usize, batches: usize) {
    let engine = loaded(parts, plan, threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let engine = &engine;
            scope.spawn(move || {
                let (mut session, mut stream) = (engine.session(), plan.stream(thread, 0));
                for _ in 0..batches {
                    let done = execute(&mut *session, &mut stream).unwrap();
                    assert!(done.iter().all(|end| !end.is_error));
                }
            });
        }
    });
    let state = engine.state();
    let mix = plan.parameters().mix;
    assert!(state.is_sound, "{mix:?} with {parts:?}: {state:?}");
    assert_eq!(state.records, plan.keys().readable());
}

#[test]
fn concurrent_writers_leave_every_record_whole() {
    for data_cache in DataCacheKind::ALL {
        for lock in [LockKind::Tas, LockKind::Ttas, LockKind::Backoff, LockKind::Futex] {
            for mix in [Mix::A, Mix::D, Mix::E, Mix::F] {
                run_concurrently(Parts { data_cache, lock, ..PARTS }, &plan(mix, 300), 3, 300);
            }
        }
        // Fair locks with more threads than CPUs take a context switch per hand-over.
        for lock in [LockKind::Ticket, LockKind::Mcs] {
            run_concurrently(Parts { data_cache, lock, ..PARTS }, &plan(Mix::A, 300), 2, 50);
        }
    }
}

#[test]
fn concurrent_writers_leave_every_record_whole_while_pages_are_evicted() {
    for data_cache in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        for lock in [LockKind::Ttas, LockKind::Futex] {
            for mix in [Mix::A, Mix::D, Mix::E, Mix::F] {
                for cache_share in [50, 10] {
                    let parts = Parts { data_cache, lock, cache_share, ..PARTS };
                    run_concurrently(parts, &wide_plan(mix, 1800), 3, 40);
                }
            }
        }
    }
}

#[test]
fn a_share_that_cannot_be_is_refused_with_what_can() {
    let plan = wide_plan(Mix::C, 600);
    let refused = |parts| {
        let clock = Clock::calibrated();
        let refused = registry::build(&Configuration { parts, plan: &plan, sessions: 8, clock });
        refused.err().unwrap().to_string()
    };
    let data_cache = DataCacheKind::Optimistic;
    let message = refused(Parts { data_cache, cache_share: 50, ..PARTS });
    for kind in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        assert!(message.contains(kind.name()), "{message}");
    }
    let message = refused(Parts { cache_share: 10, ..PARTS });
    assert!(message.contains("4 pages") && message.contains("40"), "{message}");
    assert!(message.contains("16 that 8 sessions"), "{message}");
    for cache_share in [0, 101] {
        let message = refused(Parts { cache_share, ..PARTS });
        assert!(message.contains("parts.cache_share") && message.contains("from 1 to 100"));
    }
}

#[test]
fn every_n_operations_bring_one_uncounted() {
    let plan = plan(Mix::C, 100);
    let engine = loaded(PARTS, &plan, 1);
    for (every, extras) in [(0, 0), (1, 800), (4, 320), (100, 15)] {
        let (mut session, mut stream) = (engine.session(), plan.stream(0, every));
        let mut uncounted = 0;
        for _ in 0..100 {
            let done = execute(&mut *session, &mut stream).unwrap();
            uncounted += done.iter().filter(|end| end.is_extra).count();
        }
        assert_eq!(uncounted, extras, "every {every}");
        assert_eq!(session.counts().executed, 1600);
        assert_eq!(session.counts().pool.hits, 1600);
        assert_eq!(session.counts().pool.misses, 0);
        assert_eq!(session.counts().index.grabs, 1600);
    }
}

#[test]
fn a_full_key_space_is_an_error_that_says_so() {
    let parameters = Parameters { operations: 1000, ..plan(Mix::D, 200).parameters().clone() };
    let plan = Plan::new(parameters).unwrap();
    let engine = loaded(PARTS, &plan, 1);
    let (mut session, mut stream) = (engine.session(), plan.stream(0, 0));
    let end = std::iter::repeat_with(|| execute(&mut *session, &mut stream)).find(Result::is_err);
    assert!(matches!(end, Some(Err(EngineError::Full { capacity: 300 }))), "{end:?}");
    assert_eq!(engine.state().records, 300);
    assert!(engine.state().is_sound);
}

#[test]
fn the_look_up_of_each_data_cache_is_a_function_of_its_own() {
    let plan = plan(Mix::C, 100);
    let mut addresses: Vec<_> = DataCacheKind::ALL
        .into_iter()
        .map(|kind| loaded(Parts { data_cache: kind, ..PARTS }, &plan, 1).selected())
        .map(|selected| selected.data_cache_lookup)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), DataCacheKind::ALL.len());
}

#[test]
fn impossible_parts_are_refused_by_name() {
    let plan = plan(Mix::C, 100);
    let wrong = [
        ("padding", Parts { padding: 7, ..PARTS }),
        ("cache_partitions", Parts { cache_partitions: 3, ..PARTS }),
        ("cache_partitions", Parts { cache_partitions: 0, ..PARTS }),
    ];
    for (name, parts) in wrong {
        let clock = Clock::calibrated();
        let refused = registry::build(&Configuration { parts, plan: &plan, sessions: 1, clock });
        let message = refused.err().unwrap().to_string();
        assert!(message.contains(&format!("parts.{name}")), "{message}");
    }
}

#[test]
fn elision_is_refused_for_locks_that_are_written_to_enter() {
    let plan = plan(Mix::C, 100);
    for lock in LockKind::ALL.into_iter().filter(|lock| *lock != LockKind::Ttas) {
        let parts = Parts { lock, elision: Elision::On, ..PARTS };
        let clock = Clock::calibrated();
        let refused = registry::build(&Configuration { parts, plan: &plan, sessions: 1, clock });
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("parts.elision") && message.contains(lock.name()), "{message}");
    }
}

/// Where transactions commit, whole runs are sound with them; elsewhere the state is named.
#[test]
fn elided_locks_leave_every_record_whole_or_are_refused_with_the_state() {
    let (state, _) = htm::state();
    let parts = Parts { elision: Elision::On, ..PARTS };
    if *state == HtmState::Usable {
        for data_cache in DataCacheKind::ALL {
            run_concurrently(Parts { data_cache, ..parts }, &plan(Mix::A, 300), 3, 300);
        }
        return;
    }
    let plan = plan(Mix::C, 100);
    let clock = Clock::calibrated();
    let refused = registry::build(&Configuration { parts, plan: &plan, sessions: 1, clock });
    let refused = refused.err().unwrap();
    assert!(matches!(refused, EngineError::Primitive(PrimitiveError::Missing { .. })));
    assert!(refused.to_string().contains(state.name()), "{refused}");
}
