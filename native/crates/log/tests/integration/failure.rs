//! What happens when the device fails: nobody is told that a commit is durable, then or later.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use assay_log::{Acknowledged, LogError, LogMode, Lsn, Options, Tail};

use crate::common::{DURABLE, Device, options};

pub fn failed(result: Result<Acknowledged, LogError>, wanted: &str, kind: ErrorKind) {
    match result {
        Err(LogError::Failed { call, source, .. }) => {
            assert_eq!((call, source.kind()), (wanted, kind));
        }
        other => panic!("{other:?} instead of a failed {wanted}"),
    }
}

/// One record is at the device and three wait behind it. The device fills up in the second of the
/// three.
#[test]
fn a_device_that_fills_up_inside_a_group_fails_the_whole_group() {
    for mode in [LogMode::Group, LogMode::PrivateGroup] {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        device.with(|state| state.held = true);
        let record_bytes = 32 + 16 + 100;
        std::thread::scope(|scope| {
            let mut first = log.worker();
            first.put(1, 1, &[1; 100]);
            let first = scope.spawn(move || first.commit(1));
            device.until(|state| state.waiting == 1);
            let group: Vec<_> = (2..=4)
                .map(|tid| {
                    let mut worker = log.worker();
                    worker.put(1, tid, &[tid as u8; 100]);
                    let lsn = worker.append(tid).unwrap();
                    scope.spawn(move || worker.wait(lsn))
                })
                .collect();
            device.with(|state| {
                state.full_at = Some(32 + 2 * record_bytes + 60);
                state.held = false;
            });
            let end = Lsn(32 + record_bytes as u64);
            assert_eq!(first.join().unwrap().unwrap(), Acknowledged::Durable(end));
            for member in group {
                failed(member.join().unwrap(), "write", ErrorKind::StorageFull);
            }
        });
        let mut late = log.worker();
        late.put(1, 5, b"row");
        let error = late.commit(5).unwrap_err();
        assert!(error.next().contains("free space"), "{error}: {}", error.next());
        assert_eq!(log.counts().records, 1, "a failed group is not counted");
        assert!(log.close().is_err());
        let (recovered, found) = device.read(false);
        assert!(matches!(recovered.tail, Tail::Torn { .. }));
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [1, 2]);
    }
}

#[test]
fn after_a_failed_sync_no_sync_is_tried_again() {
    for mode in DURABLE {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        let mut worker = log.worker();
        worker.put(1, 1, b"row");
        let durable = worker.commit(1).unwrap();
        device.with(|state| state.fail_sync = true);
        worker.put(1, 2, b"row");
        let error = worker.commit(2).unwrap_err();
        assert!(error.next().contains("do not retry"));
        assert!(matches!(error, LogError::Failed { call: "sync", .. }), "{error}");
        let before = device.with(|state| {
            state.fail_sync = false;
            (state.syncs, state.bytes.len())
        });
        for tid in 3..6 {
            worker.put(1, tid, b"row");
            assert!(matches!(worker.commit(tid), Err(LogError::Failed { .. })));
        }
        assert!(log.flush().is_err());
        assert_eq!(log.durable(), durable.lsn());
        assert_eq!(worker.wait(durable.lsn()).unwrap(), durable, "what was durable stays so");
        drop(log);
        assert_eq!(device.with(|state| (state.syncs, state.bytes.len())), before);
    }
}

#[test]
fn asynchronous_tells_the_next_commit_and_the_flush() {
    let device = Arc::new(Device::default());
    let fast = Options { flush_every: Duration::from_millis(1), ..options() };
    let log = device.log_with(LogMode::Asynchronous, fast);
    device.with(|state| state.full_at = Some(100));
    let mut worker = log.worker();
    let error = loop {
        worker.put(1, 1, &[0; 50]);
        match worker.commit(1) {
            Ok(got) => assert!(matches!(got, Acknowledged::Volatile(_))),
            Err(error) => break error,
        }
        std::thread::yield_now();
    };
    failed(Err(error), "write", ErrorKind::StorageFull);
    assert!(log.flush().is_err());
    assert!(log.close().is_err());
}

/// Power is lost at every moment at once: at each acknowledgement, what was synced by then holds
/// the record.
#[test]
fn a_durable_commit_is_in_the_synced_bytes_when_it_returns() {
    for mode in DURABLE {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (mut worker, device) = (log.worker(), &device);
                scope.spawn(move || {
                    for number in 0..500 {
                        worker.put(1, number, &[9; 30]);
                        let lsn = worker.commit(number * 4 + thread).unwrap().lsn();
                        assert!(device.with(|state| state.synced_bytes) as u64 >= lsn.0);
                    }
                });
            }
        });
        assert_eq!(device.read(true).1.len(), 2000);
    }
}
