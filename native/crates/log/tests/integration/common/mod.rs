//! What the tests share: folders that clean up after themselves, and storages that fail or wait.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex};

use assay_log::{Change, Log, LogMode, Options, Recovered, Storage, recover};
use assay_primitives::Clock;

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-log-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn options() -> Options {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);
    Options::new(*CLOCK)
}

pub const LOGGING: [LogMode; 4] =
    [LogMode::PerCommit, LogMode::Group, LogMode::PrivateGroup, LogMode::Asynchronous];

pub const DURABLE: [LogMode; 3] = [LogMode::PerCommit, LogMode::Group, LogMode::PrivateGroup];

/// One write as the tests compare it: table, key, row or deleted.
pub type Owned = (u16, u64, Option<Vec<u8>>);
/// A transaction as the tests compare it.
pub type Transaction = (u64, Vec<Owned>);

pub fn read(path: &Path) -> (Recovered, Vec<Transaction>) {
    let mut found = Vec::new();
    let recovered = recover(path, &mut |record| {
        let writes = record.writes().map(|write| match write.change {
            Change::Put(row) => (write.table, write.key, Some(row.to_vec())),
            Change::Delete => (write.table, write.key, None),
        });
        assert_eq!(record.sequence, found.len() as u64 + 1);
        found.push((record.tid, writes.collect()));
    });
    (recovered.unwrap(), found)
}

pub fn write(log: &Log, transactions: &[Transaction]) {
    let mut worker = log.worker();
    for (tid, writes) in transactions {
        for (table, key, row) in writes {
            match row {
                Some(row) => worker.put(*table, *key, row),
                None => worker.delete(*table, *key),
            }
        }
        worker.commit(*tid).unwrap();
    }
}

/// A device in memory. It can be full at a byte, fail at a sync, and hold syncs until told.
#[derive(Default)]
pub struct Device {
    state: Mutex<DeviceState>,
    changed: Condvar,
}

#[derive(Default)]
pub struct DeviceState {
    pub bytes: Vec<u8>,
    pub synced_bytes: usize,
    pub syncs: u64,
    pub full_at: Option<usize>,
    pub fail_sync: bool,
    /// Syncs wait while this is set.
    pub held: bool,
    /// Threads that wait in a sync.
    pub waiting: usize,
}

/// The end of a device that the log holds.
pub struct Shared(pub Arc<Device>);

impl Device {
    pub fn with<T>(&self, change: impl FnOnce(&mut DeviceState) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        result
    }

    /// Returns when the condition holds.
    pub fn until(&self, condition: impl Fn(&DeviceState) -> bool) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !condition(state)).unwrap());
    }

    pub fn log(self: &Arc<Self>, mode: LogMode) -> Log {
        self.log_with(mode, options())
    }

    pub fn log_with(self: &Arc<Self>, mode: LogMode, options: Options) -> Log {
        Log::on_storage(Box::new(Shared(Arc::clone(self))), mode, options).unwrap()
    }

    /// What recovery finds in the bytes of the device, or in those that were synced.
    pub fn read(&self, synced_only: bool) -> (Recovered, Vec<Transaction>) {
        let folder = Folder::new();
        let path = folder.file("device");
        self.with(|state| {
            let length = if synced_only { state.synced_bytes } else { state.bytes.len() };
            std::fs::write(&path, &state.bytes[..length]).unwrap();
        });
        read(&path)
    }
}

impl Storage for Shared {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.with(|state| {
            assert_eq!(offset as usize, state.bytes.len(), "the log has neither gaps nor overlaps");
            let room = state.full_at.map_or(usize::MAX, |at| at.saturating_sub(state.bytes.len()));
            state.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        state.waiting += 1;
        self.0.changed.notify_all();
        let mut state = self.0.changed.wait_while(state, |state| state.held).unwrap();
        state.waiting -= 1;
        if state.fail_sync {
            return Err(io::Error::from_raw_os_error(5));
        }
        state.syncs += 1;
        state.synced_bytes = state.bytes.len();
        Ok(())
    }
}
