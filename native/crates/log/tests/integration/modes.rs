//! What every mode promises while nothing fails, and what it counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use assay_log::{Acknowledged, Log, LogError, LogMode, Lsn, Options, Tail};

use crate::common::{DURABLE, Device, Folder, LOGGING, options, read, write};

const THREADS: u64 = 4;
const COMMITS: u64 = 100;

/// Commits of four workers at once; returns what each got, by TID.
fn commit_concurrently(log: &Log) -> HashMap<u64, Acknowledged> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let mut worker = log.worker();
                scope.spawn(move || {
                    let mut got = Vec::new();
                    for number in 0..COMMITS {
                        let tid = number * THREADS + thread;
                        worker.put(thread as u16, number, &tid.to_le_bytes());
                        worker.delete(9, tid);
                        got.push((tid, worker.commit(tid).unwrap()));
                    }
                    assert_eq!(worker.counts().commits, COMMITS);
                    got
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn four_workers_find_all_their_commits_once_and_in_their_order() {
    for mode in LOGGING {
        let folder = Folder::new();
        let path = folder.file("log");
        let log = Log::create(&path, mode, options()).unwrap();
        let got = commit_concurrently(&log);
        let counts = log.close().unwrap();
        let (recovered, found) = read(&path);
        assert_eq!(recovered.tail, Tail::Clean);
        assert_eq!(found.len() as u64, THREADS * COMMITS, "{}", mode.name());
        let mut next = [0; THREADS as usize];
        for (tid, writes) in &found {
            let thread = tid % THREADS;
            let number = std::mem::replace(&mut next[thread as usize], tid / THREADS + 1);
            assert_eq!(tid / THREADS, number, "{}: the order of a worker", mode.name());
            let put = (thread as u16, number, Some(tid.to_le_bytes().to_vec()));
            assert_eq!(*writes, [put, (9, *tid, None)]);
            assert_eq!(matches!(got[tid], Acknowledged::Durable(_)), mode.is_durable());
        }
        assert_eq!(counts.records, THREADS * COMMITS);
        assert_eq!(counts.bytes + 32, recovered.file_bytes);
        assert_eq!(counts.groups, counts.syncs);
        if mode == LogMode::PerCommit {
            assert_eq!((counts.groups, counts.group_records_max), (counts.records, 1));
        }
    }
}

#[test]
fn no_log_touches_no_file_and_says_so() {
    let folder = Folder::new();
    let path = folder.file("log");
    let log = Log::create(&path, LogMode::None, options()).unwrap();
    let got = commit_concurrently(&log);
    assert!(got.values().all(|got| *got == Acknowledged::Volatile(Lsn(0))));
    assert_eq!(log.flush().unwrap(), Lsn(0));
    assert_eq!(log.close().unwrap().records, 0);
    assert!(!path.exists());
}

/// While one leader is held in its sync, three workers append; the next leader takes all three.
#[test]
fn a_group_is_what_was_appended_while_the_leader_was_away() {
    for mode in [LogMode::Group, LogMode::PrivateGroup] {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        let syncs_before = device.with(|state| {
            state.held = true;
            state.syncs
        });
        std::thread::scope(|scope| {
            let commit = |tid| {
                let mut worker = log.worker();
                scope.spawn(move || {
                    worker.put(1, tid, b"row");
                    worker.commit(tid).unwrap();
                });
            };
            commit(1);
            device.until(|state| state.waiting == 1);
            let mut early = log.worker();
            for tid in 2..=4 {
                early.put(1, tid, b"row");
                early.append(tid).unwrap();
            }
            commit(5);
            assert_eq!(log.durable(), Lsn(32));
            device.with(|state| state.held = false);
        });
        log.flush().unwrap();
        let counts = log.counts();
        assert_eq!(counts.records, 5);
        assert!(counts.group_records_max >= 3, "{counts:?}");
        assert!(device.with(|state| state.syncs) - syncs_before <= 3, "{}", mode.name());
    }
}

#[test]
fn contention_makes_fewer_syncs_than_commits() {
    let folder = Folder::new();
    for mode in [LogMode::Group, LogMode::PrivateGroup] {
        let log = Log::create(folder.file(mode.name()), mode, options()).unwrap();
        commit_concurrently(&log);
        let counts = log.close().unwrap();
        assert!(counts.syncs < counts.records, "{}: {counts:?}", mode.name());
        assert!(counts.group_records_max > 1);
    }
}

#[test]
fn asynchronous_becomes_durable_by_itself() {
    let device = Arc::new(Device::default());
    let slow = Options { flush_every: Duration::from_millis(1), ..options() };
    let log = device.log_with(LogMode::Asynchronous, slow);
    let mut worker = log.worker();
    worker.put(1, 1, b"row");
    let lsn = worker.commit(1).unwrap();
    assert!(matches!(lsn, Acknowledged::Volatile(_)));
    device.until(|state| state.synced_bytes as u64 >= lsn.lsn().0);
    while log.durable() < lsn.lsn() {
        std::thread::yield_now();
    }
}

#[test]
fn a_full_buffer_makes_appending_wait_instead_of_growing() {
    let device = Arc::new(Device::default());
    let small =
        Options { flush_every: Duration::from_secs(3600), pending_bytes_max: 1000, ..options() };
    let log = device.log_with(LogMode::Asynchronous, small);
    let mut worker = log.worker();
    for tid in 0..100 {
        worker.put(1, tid, &[0; 100]);
        worker.commit(tid).unwrap();
    }
    assert!(log.counts().groups >= 10);
    assert!(log.counts().group_bytes_max < 1000 + 148);
}

#[test]
fn a_commit_without_writes_waits_for_what_it_can_have_read() {
    for mode in DURABLE {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        let (mut writer, mut reader) = (log.worker(), log.worker());
        writer.put(1, 1, b"row");
        let lsn = writer.append(1).unwrap();
        assert_eq!(reader.commit(2).unwrap(), Acknowledged::Durable(lsn));
        assert!(log.durable() >= lsn);
        assert_eq!(device.read(true).1.len(), 1);
    }
}

#[test]
fn a_transaction_that_is_discarded_or_too_large_leaves_no_trace() {
    for mode in LOGGING {
        let folder = Folder::new();
        let path = folder.file("log");
        let log = Log::create(&path, mode, Options { record_bytes_max: 100, ..options() }).unwrap();
        let mut worker = log.worker();
        worker.put(1, 1, b"rolled back");
        worker.discard();
        worker.put(1, 2, &[7; 84]);
        worker.commit(2).unwrap();
        worker.put(1, 3, &[7; 60]);
        worker.put(1, 3, &[7; 60]);
        let error = worker.commit(3).unwrap_err();
        assert!(matches!(error, LogError::TooLarge { tid: 3, bytes: 152, limit: 100 }), "{error}");
        worker.put(1, 4, b"fits");
        worker.commit(4).unwrap();
        log.close().unwrap();
        worker.put(1, 5, b"too late");
        assert!(matches!(worker.commit(5), Err(LogError::Closed { .. })));
        let tids: Vec<u64> = read(&path).1.iter().map(|one| one.0).collect();
        assert_eq!(tids, [2, 4], "{}", mode.name());
    }
}

#[test]
fn a_recovered_log_goes_on_in_another_mode_behind_its_last_whole_record() {
    let folder = Folder::new();
    let path = folder.file("log");
    let one = |tid| [(tid, vec![(1, tid, Some(vec![tid as u8; 50]))])];
    let log = Log::create(&path, LogMode::PerCommit, options()).unwrap();
    write(&log, &one(1));
    log.close().unwrap();
    for (tid, mode) in (2..).zip(LOGGING) {
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend_from_within(32..60);
        torn.resize(torn.len() + 300, 0xAA);
        std::fs::write(&path, torn).unwrap();
        let (recovered, found) = read(&path);
        assert_eq!(found.len() as u64, tid - 1);
        assert!(matches!(recovered.tail, Tail::Torn { .. }));
        let log = Log::append_to(&recovered, mode, options()).unwrap();
        assert!(matches!(
            Log::append_to(&recovered, mode, options()).err(),
            Some(LogError::InUse { .. })
        ));
        write(&log, &one(tid));
        log.close().unwrap();
        assert_eq!(read(&path).0.tail, Tail::Clean, "the torn tail was cut");
        assert!(matches!(
            Log::append_to(&recovered, mode, options()).err(),
            Some(LogError::Changed { .. })
        ));
    }
    assert_eq!(read(&path).1.len(), 5);
    assert_eq!(read(&path).0.tail, Tail::Clean);
    let error = Log::create(&path, LogMode::Group, options()).err().unwrap();
    assert!(matches!(error, LogError::Exists { .. }));
    assert!(error.next().contains("append_to"));
}

#[test]
fn preallocated_space_is_no_damage() {
    let folder = Folder::new();
    let path = folder.file("log");
    let large = Options { preallocate_bytes: 1 << 20, ..options() };
    let log = Log::create(&path, LogMode::Group, large).unwrap();
    write(&log, &[(1, vec![(1, 1, None)])]);
    log.close().unwrap();
    let (recovered, found) = read(&path);
    assert_eq!((recovered.tail, recovered.file_bytes, found.len()), (Tail::Zeros, 1 << 20, 1));
    let log = Log::append_to(&recovered, LogMode::Group, large).unwrap();
    write(&log, &[(2, vec![(1, 1, None)])]);
    log.close().unwrap();
    assert_eq!(read(&path).1.len(), 2);
}

#[test]
fn an_empty_file_is_an_empty_log() {
    let folder = Folder::new();
    let path = folder.file("log");
    std::fs::write(&path, b"").unwrap();
    let log = Log::append_to(&read(&path).0, LogMode::Group, options()).unwrap();
    write(&log, &[(1, vec![(1, 1, None)])]);
    log.close().unwrap();
    assert_eq!(read(&path).1.len(), 1);
}
