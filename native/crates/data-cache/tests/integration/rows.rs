//! Rows in pages: every row has its own bytes, look-ups go through the right cache and pin.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use assay_data_cache::rows::{NamedCache, arena_bytes_with, pages_of};
use assay_data_cache::{CacheError, DataCacheKind, PagedRows, TableShape};
use assay_primitives::{Arena, LockKind, PageMode};

use crate::support::{UNWATCHED, locks, waiting};

/// Two tables in the default cache, one in the system's; rows of 40, 136 and 8 bytes.
const TABLES: [TableShape; 3] = [
    TableShape { row_bytes: 40, capacity: 3000, cache: 0 },
    TableShape { row_bytes: 131, capacity: 500, cache: 1 },
    TableShape { row_bytes: 8, capacity: 5, cache: 0 },
];

fn named(kinds: [DataCacheKind; 2]) -> [NamedCache; 2] {
    let cache = |name, kind| NamedCache { name, kind, partitions: 4, padding: 64 };
    [cache("default", kinds[0]), cache("system", kinds[1])]
}

/// Calls with the rows of both caches' kinds.
fn with_rows(kinds: [DataCacheKind; 2], lock: LockKind, test: impl FnOnce(&Arc<PagedRows>)) {
    let caches = named(kinds);
    let bytes = arena_bytes_with(&TABLES, &caches, lock.into());
    // The rows keep the arena.
    let arena = Arena::new(bytes, PageMode::Small).unwrap();
    let rows = PagedRows::new(&TABLES, &caches, lock.into(), waiting(lock), &arena).unwrap();
    drop(arena);
    test(&Arc::new(rows));
}

#[test]
fn every_row_has_bytes_of_its_own_and_is_found_again() {
    for kind in DataCacheKind::ALL {
        for system in [DataCacheKind::OneLock, DataCacheKind::HyperClock] {
            with_rows([kind, system], LockKind::Ttas, |rows| {
                let pins = &mut rows.pins(waiting(LockKind::Ttas));
                let mut all = Vec::new();
                for (table, shape) in TABLES.iter().enumerate() {
                    for _ in 0..shape.capacity {
                        let (reference, row) = rows.allocate(table).unwrap();
                        let row = row.cast::<u64>();
                        // SAFETY: the row is this test's, aligned, of eight bytes at least.
                        unsafe {
                            assert_eq!(row.read(), 0, "a fresh row is zero");
                            let words = shape.row_bytes / 8;
                            (0..words).for_each(|word| row.add(word).write(reference));
                        }
                        all.push((reference, row, shape.row_bytes / 8));
                    }
                    let full = rows.allocate(table);
                    assert!(
                        matches!(full, Err(CacheError::Table { table: it, .. }) if it == table)
                    );
                }
                let references: HashSet<u64> = all.iter().map(|row| row.0).collect();
                assert_eq!(references.len(), all.len());
                for (reference, row, words) in &all {
                    let found = pins.locate(*reference).unwrap().cast::<u64>();
                    assert_eq!(found, *row);
                    // SAFETY: as above.
                    let whole =
                        (0..*words).all(|word| unsafe { found.add(word).read() } == *reference);
                    assert!(whole, "row {reference:x} was written by another");
                }
                assert_eq!(pins.held(), all.len());
                assert_eq!(pins.look_ups()[..3], [3005, 500, 0]);
                pins.release_all();
                assert_eq!(pins.held(), 0);
            });
        }
    }
}

/// No page of a cache is unpinned while a set holds it, and all are afterwards.
#[test]
fn a_set_pins_each_look_up_until_it_is_released() {
    for kind in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        with_rows([DataCacheKind::OneLock, kind], LockKind::Ttas, |rows| {
            let pins = &mut rows.pins(waiting(LockKind::Ttas));
            let pages = pages_of(&TABLES, 1);
            let references: Vec<u64> = (0..500).map(|_| rows.allocate(1).unwrap().0).collect();
            for reference in references.iter().chain(&references) {
                pins.locate(*reference).unwrap();
            }
            let system = &rows.caches()[1];
            assert_eq!(
                system.evict(0, &UNWATCHED, &mut locks(LockKind::Ttas)),
                None,
                "{}",
                kind.name()
            );
            pins.release_all();
            let victims =
                std::iter::from_fn(|| system.evict(0, &UNWATCHED, &mut locks(LockKind::Ttas)));
            assert_eq!(victims.count(), pages);
        });
    }
}

#[test]
fn references_that_never_were_are_not_found() {
    with_rows([DataCacheKind::Optimistic, DataCacheKind::OneLock], LockKind::Ttas, |rows| {
        let pins = &mut rows.pins(waiting(LockKind::Ttas));
        let (reference, _) = rows.allocate(0).unwrap();
        for wrong in [reference | 0xFFFF, 77 << 16, 1 << 40, 1 << 47, u64::MAX >> 16, u64::MAX] {
            assert_eq!(pins.locate(wrong), None, "{wrong:x}");
            assert!(matches!(rows.free(wrong), Err(CacheError::Unknown { .. })), "{wrong:x}");
        }
        pins.release_all();
    });
}

#[test]
fn a_freed_row_is_given_out_again_as_it_was_left() {
    with_rows([DataCacheKind::HyperClock; 2], LockKind::Ttas, |rows| {
        let all: Vec<_> = (0..5).map(|_| rows.allocate(2).unwrap()).collect();
        // SAFETY: the row is this test's, of eight bytes.
        unsafe { all[3].1.cast::<u64>().write(33) };
        rows.free(all[3].0).unwrap();
        let again = rows.allocate(2).unwrap();
        assert_eq!(again, all[3]);
        // SAFETY: as above.
        assert_eq!(unsafe { again.1.cast::<u64>().read() }, 33);
        assert!(rows.allocate(2).is_err());
    });
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let arena = Arena::new(1 << 21, PageMode::Small).unwrap();
    let (caches, lock) = (named([DataCacheKind::OneLock; 2]), LockKind::Ttas);
    let refused = |table: TableShape| {
        let tables = [TABLES[2], table];
        let rows = PagedRows::new(&tables, &caches, lock.into(), waiting(lock), &arena);
        rows.err().unwrap().to_string()
    };
    let table = TableShape { row_bytes: 100, capacity: 10, cache: 0 };
    let message = refused(TableShape { row_bytes: 20_000, ..table });
    assert!(message.contains("table 1") && message.contains("20000 bytes"), "{message}");
    assert!(refused(TableShape { cache: 2, ..table }).contains("not one of the 2"));
    let message = refused(TableShape { row_bytes: 16_000, capacity: 1 << 28, ..table });
    assert!(message.contains("room for 268435455 pages"), "{message}");
    let message = refused(TableShape { capacity: 1 << 20, ..table });
    assert!(message.contains("the rows' pages"), "{message}");
}

/// Threads allocate, count in rows that all of them look up, and free.
#[test]
fn threads_share_rows_without_losing_any() {
    const THREADS: usize = 4;
    for kind in DataCacheKind::ALL {
        with_rows([kind, kind], LockKind::Futex, |rows| {
            let (shared, _) = rows.allocate(0).unwrap();
            let work = || {
                let pins = &mut rows.pins(waiting(LockKind::Futex));
                for round in 0..300 {
                    let own: Vec<u64> = (0..5).map(|_| rows.allocate(0).unwrap().0).collect();
                    for reference in &own {
                        let row = pins.locate(*reference).unwrap();
                        // SAFETY: rows are aligned words, used as atomics by all.
                        let word = unsafe { row.cast::<AtomicU64>().as_ref() };
                        word.store(*reference, Ordering::Relaxed);
                    }
                    let row = pins.locate(shared).unwrap();
                    // SAFETY: as above.
                    unsafe { row.cast::<AtomicU64>().as_ref() }.fetch_add(1, Ordering::Relaxed);
                    for reference in own {
                        let row = pins.locate(reference).unwrap();
                        // SAFETY: as above.
                        let word = unsafe { row.cast::<AtomicU64>().as_ref() };
                        assert_eq!(word.load(Ordering::Relaxed), reference, "round {round}");
                        rows.free(reference).unwrap();
                    }
                    pins.release_all();
                }
                assert_eq!(pins.look_ups()[0], 300 * 11);
            };
            thread::scope(|scope| {
                (0..THREADS).for_each(|_| drop(scope.spawn(work)));
            });
            let pins = &mut rows.pins(waiting(LockKind::Futex));
            let row = pins.locate(shared).unwrap();
            // SAFETY: as above.
            let count = unsafe { row.cast::<AtomicU64>().as_ref() }.load(Ordering::Relaxed);
            assert_eq!(count, 300 * THREADS as u64);
            pins.release_all();
        });
    }
}
