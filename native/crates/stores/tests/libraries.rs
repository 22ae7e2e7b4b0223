//! Both stores on Debian's libraries, beside a slow obvious twin.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_random::Random;
use assay_stores::folder::Scratch;
use assay_stores::{
    Ask, Kind, Opening, Settings, Shape, Store, StoreError, Visitor, defaults, look_through, open,
};
use assay_workload::hash::fnv1a_64;
use assay_workload::{KeyText, Values};

const SHAPE: Shape = Shape { fields: 3, field_bytes: 20 };
const RECORDS: u64 = 500;
static GO_ON: AtomicBool = AtomicBool::new(false);

fn library(kind: Kind) -> &'static Path {
    Path::new(match kind {
        Kind::RocksDb => "librocksdb.so.7.8",
        Kind::Sqlite => "libsqlite3.so.0",
    })
}

fn texts(pairs: &[(&str, &str)]) -> Settings {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn opened(
    kind: Kind,
    folder: &Path,
    opening: Opening,
    settings: &Settings,
) -> Result<Box<dyn Store>, StoreError> {
    let library = library(kind);
    open(&Ask { kind, library, folder, opening, settings, shape: SHAPE, sessions: 2 })
}

type Record = Vec<Vec<u8>>;
type Records = BTreeMap<Vec<u8>, Record>;

/// Keeps what comes.
#[derive(Default)]
struct Keep {
    records: Vec<(Vec<u8>, Record)>,
}

impl Visitor for Keep {
    fn begin(&mut self, key: &[u8]) {
        self.records.push((key.to_vec(), Vec::new()));
    }

    fn field(&mut self, value: &[u8]) {
        self.records.last_mut().unwrap().1.push(value.to_vec());
    }

    fn end(&mut self, is_readable: bool) {
        assert!(is_readable);
    }
}

fn initial(key: u64, values: &Values) -> Record {
    (0..SHAPE.fields).map(|field| values.initial(key, field).to_vec()).collect()
}

/// Random operations on a session and on its twin, with the same outcome.
fn meets_its_twin(store: &dyn Store, values: &Values, seed: u64) {
    let mut session = store.session().unwrap();
    let keys: Vec<u64> = (0..RECORDS).map(fnv1a_64).collect();
    session.load(&keys, SHAPE, values).unwrap();
    drop(session);
    // What is changed from here on is in a file already.
    store.settle(&GO_ON).unwrap();
    let mut session = store.session().unwrap();
    let record = |key: &u64| (KeyText::new(*key).as_bytes().to_vec(), initial(*key, values));
    let mut twin: Records = keys.iter().map(record).collect();
    let mut random = Random::new(seed, 0);
    let mut next = RECORDS;
    for _ in 0..2000 {
        // Some of the keys are of no record.
        let number = fnv1a_64(random.below(RECORDS + 20));
        let key = KeyText::new(number);
        let text = key.as_bytes();
        match random.below(4) {
            0 => {
                let mut kept = Keep::default();
                session.read(&key, &mut kept).unwrap();
                let found = kept.records.pop().map(|(_, record)| record);
                assert_eq!((found.as_ref(), kept.records.len()), (twin.get(text), 0));
            }
            1 => {
                let field = random.below(SHAPE.fields as u64) as usize;
                let value = values.value(random.below(values.count() as u64) as usize);
                let is_there = session.update(&key, field, value).unwrap();
                let record = twin.get_mut(text);
                assert_eq!(is_there, record.is_some());
                if let Some(record) = record {
                    record[field] = value.to_vec();
                }
            }
            2 => {
                let limit = 1 + random.below(30);
                let mut kept = Keep::default();
                session.scan(text, Some(limit), &mut kept).unwrap();
                let wanted = twin.range(text.to_vec()..).take(limit as usize);
                assert!(kept.records.iter().map(|(key, record)| (key, record)).eq(wanted));
            }
            _ => {
                let key = fnv1a_64(next + 1000);
                next += 1;
                session.insert(key, SHAPE, values).unwrap();
                twin.extend([record(&key)]);
            }
        }
    }
    let mut kept = Keep::default();
    session.scan(b"", None, &mut kept).unwrap();
    assert!(kept.records.into_iter().eq(twin));
}

#[test]
fn every_store_and_every_memtable_does_what_its_twin_does() {
    let values = Values::new(1, SHAPE.field_bytes);
    let small = ("write_buffer_size", "64K");
    let cases = [
        (Kind::RocksDb, vec![]),
        // So small that there are files, and that they are merged meanwhile.
        (Kind::RocksDb, vec![small, ("row_cache_bytes", "1M"), ("checksum", "kCRC32c")]),
        (Kind::RocksDb, vec![small, ("memtable", "vector")]),
        (Kind::RocksDb, vec![("memtable", "hash-skiplist")]),
        (Kind::RocksDb, vec![("memtable", "hash-linklist"), ("wal", "false")]),
        (Kind::Sqlite, vec![("journal_mode", "wal")]),
        (Kind::Sqlite, vec![("journal_mode", "delete"), ("synchronous", "off")]),
    ];
    for (seed, (kind, settings)) in cases.into_iter().enumerate() {
        let scratch = Scratch::new().unwrap();
        let settings = texts(&settings);
        let store = opened(kind, scratch.path(), Opening::Create, &settings).unwrap();
        meets_its_twin(&*store, &values, seed as u64);
        store.settle(&GO_ON).unwrap();
    }
}

#[test]
fn data_outlive_the_store_and_belong_to_one_at_a_time() {
    let (values, none) = (Values::new(1, SHAPE.field_bytes), Settings::new());
    let keys: Vec<u64> = (0..RECORDS).map(fnv1a_64).collect();
    for kind in Kind::ALL {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.path();
        let store = opened(kind, folder, Opening::Create, &none).unwrap();
        store.session().unwrap().load(&keys, SHAPE, &values).unwrap();
        store.settle(&GO_ON).unwrap();
        let second = opened(kind, folder, Opening::Existing, &none);
        assert!(matches!(second, Err(StoreError::InUse { .. })), "{kind:?}");
        drop(store);
        let store = opened(kind, folder, Opening::Existing, &none).unwrap();
        let found = look_through(&*store, SHAPE, RECORDS).unwrap();
        assert_eq!((found.records, found.faults), (RECORDS, vec![]));
        // One that is not there, and one too many.
        for expected in [RECORDS + 1, RECORDS - 1] {
            let found = look_through(&*store, SHAPE, expected).unwrap();
            assert_eq!(found.faults.len(), 1, "{:?}", found.faults);
        }
    }
}

#[test]
fn threads_that_change_the_same_records_leave_them_whole() {
    let (values, none) = (Values::new(1, SHAPE.field_bytes), Settings::new());
    let keys: Vec<u64> = (0..10).map(fnv1a_64).collect();
    for kind in Kind::ALL {
        let scratch = Scratch::new().unwrap();
        let store = opened(kind, scratch.path(), Opening::Create, &none).unwrap();
        store.session().unwrap().load(&keys, SHAPE, &values).unwrap();
        let rounds = if kind == Kind::Sqlite { 20 } else { 2000 };
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (store, values, keys) = (&*store, &values, &keys);
                scope.spawn(move || {
                    let mut session = store.session().unwrap();
                    for round in 0..rounds {
                        let key = KeyText::new(keys[round % keys.len()]);
                        let value = values.value((round + thread) % values.count());
                        assert!(session.update(&key, thread, value).unwrap());
                    }
                });
            }
        });
        let found = look_through(&*store, SHAPE, 10).unwrap();
        assert_eq!((found.records, found.faults), (10, vec![]), "{kind:?}");
    }
}

/// Changes a record again and again while another session of `holder`, which adds records from
/// `first` on, keeps the database locked for far longer than a connection's whole patience. How
/// often a change was tried again after that.
fn change_beside(store: &dyn Store, holder: &dyn Store, first: u64) -> Result<u64, StoreError> {
    let values = &Values::new(1, SHAPE.field_bytes);
    std::thread::scope(|scope| {
        let adding = scope.spawn(move || {
            let keys: Vec<u64> = (first..).take(100_000).map(fnv1a_64).collect();
            holder.session().unwrap().load(&keys, SHAPE, values).unwrap();
        });
        let mut session = store.session().unwrap();
        while !adding.is_finished() {
            session.update(&KeyText::new(fnv1a_64(0)), 0, values.value(1))?;
        }
        let counters = session.counters();
        Ok(counters.iter().find(|(name, _)| *name == "busy.retries").unwrap().1)
    })
}

#[test]
fn a_lock_that_a_sibling_keeps_is_waited_for_and_one_that_a_stranger_keeps_is_an_error() {
    let patient = texts(&[("synchronous", "off")]);
    let mut settings = patient.clone();
    settings.insert("busy_timeout".to_owned(), "20".to_owned());
    let (ours, theirs) = (Scratch::new().unwrap(), Scratch::new().unwrap());
    let store = opened(Kind::Sqlite, ours.path(), Opening::Create, &settings).unwrap();
    let values = Values::new(1, SHAPE.field_bytes);
    store.session().unwrap().load(&[fnv1a_64(0)], SHAPE, &values).unwrap();
    assert!(change_beside(&*store, &*store, 1).unwrap() > 3);
    // The same file by another name belongs to a store that knows nothing of ours.
    std::fs::hard_link(ours.path().join("store.db"), theirs.path().join("store.db")).unwrap();
    let stranger = opened(Kind::Sqlite, theirs.path(), Opening::Existing, &patient).unwrap();
    let message = change_beside(&*store, &*stranger, 200_000).unwrap_err().to_string();
    assert!(message.contains("locked for 20 ms, 3 times in a row"), "{message}");
}

#[test]
fn options_of_a_library_are_listed_and_may_all_be_given_back() {
    for (kind, names) in [
        (Kind::RocksDb, &["max_background_jobs", "write_buffer_size", "block_size", "cache"][..]),
        (Kind::Sqlite, &["page_size", "synchronous", "busy_timeout"]),
    ] {
        let found = defaults(kind, library(kind)).unwrap();
        assert!(found.version.split('.').count() == 3, "{}", found.version);
        for name in names {
            let settings = texts(&[(name, &found.options[*name])]);
            let scratch = Scratch::new().unwrap();
            let store = opened(kind, scratch.path(), Opening::Create, &settings).unwrap();
            assert_eq!(store.in_force().settings[*name], found.options[*name]);
            assert_eq!(store.in_force().version, found.version);
        }
    }
}
