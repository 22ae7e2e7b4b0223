//! The hand-off under loom: every interleaving of a few workers, with the shipped code; and twins
//! of it that are wrong in one way each, which loom must reject.
//!
//!     cargo test -p assay-log --release --features loom --test loom
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io;
use std::sync::{Arc, LazyLock};

use assay_log::{Acknowledged, Log, LogError, LogMode, Options, Storage};
use assay_primitives::Clock;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);

/// Counts bytes. Two leaders inside at once, or a gap, are found.
struct Device {
    inside: AtomicBool,
    written: AtomicUsize,
    synced: AtomicUsize,
    full_at: usize,
}

struct Shared(Arc<Device>);

impl Device {
    fn new(full_at: usize) -> Arc<Self> {
        let (written, synced) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { inside: AtomicBool::new(false), written, synced, full_at })
    }

    fn alone<T>(&self, body: impl FnOnce() -> T) -> T {
        assert!(!self.inside.swap(true, Ordering::AcqRel), "two leaders at the device");
        let result = body();
        self.inside.store(false, Ordering::Release);
        result
    }
}

impl Storage for Shared {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.alone(|| {
            let written = self.0.written.load(Ordering::Relaxed);
            assert_eq!(written as u64, offset, "a gap or an overlap");
            if written + bytes.len() > self.0.full_at {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.written.store(written + bytes.len(), Ordering::Relaxed);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.0.alone(|| {
            self.0.synced.store(self.0.written.load(Ordering::Relaxed), Ordering::Relaxed);
            Ok(())
        })
    }
}

/// Commits of several workers; each checks at once what it was told. Returns how many got through.
fn commit_all(mode: LogMode, workers: u64, full_at: usize, options: Options) -> usize {
    let device = Device::new(full_at);
    let log = Log::on_storage(Box::new(Shared(device.clone())), mode, options).unwrap();
    let run = |tid: u64| {
        let (mut writer, device) = (log.worker(), device.clone());
        move || {
            writer.put(1, tid, &[]);
            match writer.commit(tid) {
                Ok(Acknowledged::Durable(lsn)) => {
                    let synced = device.synced.load(Ordering::Relaxed) as u64;
                    assert!(synced >= lsn.0, "acknowledged before its sync");
                    1
                }
                Ok(Acknowledged::Volatile(_)) => panic!("a durable mode"),
                Err(LogError::Failed { .. }) => 0,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let threads: Vec<_> = (1..workers).map(|tid| thread::spawn(run(tid))).collect();
    let mine = run(0)();
    mine + threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
}

fn explore(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(body);
}

const MODES: [LogMode; 3] = [LogMode::PerCommit, LogMode::Group, LogMode::PrivateGroup];

#[test]
fn two_workers_are_acknowledged_after_their_sync() {
    for mode in MODES {
        explore(4, move || {
            assert_eq!(commit_all(mode, 2, usize::MAX, Options::new(*CLOCK)), 2);
        });
    }
}

#[test]
fn three_workers_are_acknowledged_after_their_sync() {
    for mode in MODES {
        explore(2, move || {
            assert_eq!(commit_all(mode, 3, usize::MAX, Options::new(*CLOCK)), 3);
        });
    }
}

#[test]
fn a_full_device_wakes_everybody_and_acknowledges_only_what_fits() {
    let one_record = 32 + 32 + 16;
    for mode in MODES {
        explore(2, move || {
            // Nobody gets through where all three share the first group.
            assert!(commit_all(mode, 3, one_record, Options::new(*CLOCK)) <= 1);
        });
    }
}

#[test]
fn a_full_buffer_loses_nobody() {
    explore(2, || {
        let tiny = Options { pending_bytes_max: 1, ..Options::new(*CLOCK) };
        assert_eq!(commit_all(LogMode::Group, 3, usize::MAX, tiny), 3);
    });
}

/// What a twin does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Durable is what was appended until the leader's return, not what it took.
    AcknowledgesTooMuch,
    /// The leader does not wake the followers.
    NoWakeUp,
    /// A worker does not look whether there is a leader.
    TwoLeaders,
}

/// The hand-off in thirty lines: a record is one byte.
struct Twin {
    /// Appended, durable, whether there is a leader.
    state: Mutex<(usize, usize, bool)>,
    returned: Condvar,
    device: Arc<Device>,
    fault: Fault,
}

impl Twin {
    fn commit(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        let lsn = state.0;
        while state.1 < lsn {
            if state.2 && self.fault != Fault::TwoLeaders {
                state = self.returned.wait(state).unwrap();
                continue;
            }
            state.2 = true;
            let (start, end) = (state.1, state.0);
            drop(state);
            let device = Shared(self.device.clone());
            device.write_all_at(&vec![0; end - start], start as u64).unwrap();
            device.sync().unwrap();
            state = self.state.lock().unwrap();
            state.1 = if self.fault == Fault::AcknowledgesTooMuch { state.0 } else { end };
            state.2 = false;
            if self.fault != Fault::NoWakeUp {
                self.returned.notify_all();
            }
        }
        drop(state);
        let synced = self.device.synced.load(Ordering::Relaxed);
        assert!(synced >= lsn, "acknowledged before its sync");
    }
}

fn explore_twin(fault: Fault) {
    explore(3, move || {
        let (state, returned) = (Mutex::new((0, 0, false)), Condvar::new());
        let twin = Arc::new(Twin { state, returned, device: Device::new(usize::MAX), fault });
        let other = {
            thread::spawn({
                let twin = twin.clone();
                move || twin.commit()
            })
        };
        twin.commit();
        other.join().unwrap();
    });
}

#[test]
fn the_right_twin_passes() {
    explore_twin(Fault::None);
}

#[test]
#[should_panic(expected = "acknowledged before its sync")]
fn acknowledging_what_came_meanwhile_is_found() {
    explore_twin(Fault::AcknowledgesTooMuch);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_missing_wake_up_is_found() {
    explore_twin(Fault::NoWakeUp);
}

#[test]
#[should_panic(expected = "a gap or an overlap")]
fn two_leaders_are_found() {
    explore_twin(Fault::TwoLeaders);
}
