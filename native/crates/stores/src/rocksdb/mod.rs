//! RocksDB, by its C interface.
//!
//! One value holds all fields of a record ([`value`]). An update reads the value, changes one field
//! and writes it back, two calls without a transaction, as go-ycsb does it on raw TiKV; two updates of
//! one record at the same time can therefore lose one. A read-modify-write reads once more before.
//! Scans ask for the total order of keys, whatever the memtable hashes.
//!
//! | module | what |
//! |---|---|
//! | [`api`] | the functions |
//! | [`choices`] | settings that are Assay's own |
//! | [`options`] | the library's options, set by their names |
//! | [`options_file`], [`log_file`], [`statistics`] | what the library says of itself |
//! | [`value`] | a record as one value |

pub mod api;
pub mod choices;
pub mod log_file;
pub mod options;
pub mod options_file;
mod session;
pub mod statistics;
pub mod value;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use self::api::{Api, Handle};
use self::choices::{Cache, Choices, Memtable};
use self::log_file::Facts;
use self::options::Options;
use self::options_file::OptionsFile;
use self::session::RocksSession;
use crate::folder::{Claim, Scratch};
use crate::library::{Loaded, file_of};
use crate::{Ask, Defaults, InForce, Opening, Session, Settings, Store, StoreError};

/// How often it is asked whether work in the background is over.
const POLL: Duration = Duration::from_millis(5);
/// What says that work is going on, and that there is more to do: each is 0 when there is none.
const RUNNING: [&str; 2] = ["rocksdb.num-running-flushes", "rocksdb.num-running-compactions"];
const PENDING: [&str; 2] = ["rocksdb.mem-table-flush-pending", "rocksdb.compaction-pending"];
/// Work that nobody has begun for so long is left alone, as without automatic compactions.
const PATIENCE: Duration = Duration::from_secs(2);

/// An open database.
pub struct RocksDb {
    api: &'static Api,
    database: NonNull<std::ffi::c_void>,
    /// They give the statistics.
    options: Options,
    has_statistics: bool,
    /// By the order of their text.
    counter_names: Vec<&'static str>,
    read: Handle,
    write: Handle,
    load: Handle,
    folder: PathBuf,
    in_force: InForce,
    _claim: Claim,
}

// SAFETY: a database may be used by any number of threads, and options are only read.
unsafe impl Sync for RocksDb {}

/// Opens a database.
///
/// # Errors
/// Those of the library; `NotInForce` for a setting that came out otherwise.
pub fn open(ask: &Ask<'_>) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(RocksDb::open(ask)?))
}

/// The options of a database without any, and Assay's own.
///
/// # Errors
/// Those of the library.
pub fn defaults(library: &Path) -> Result<Defaults, StoreError> {
    let scratch = Scratch::new()?;
    let settings = Settings::new();
    let opened = RocksDb::open(&Ask {
        kind: crate::Kind::RocksDb,
        library,
        folder: scratch.path(),
        opening: Opening::Create,
        settings: &settings,
        shape: crate::Shape { fields: 1, field_bytes: 1 },
        sessions: 1,
    })?;
    let mut options = OptionsFile::newest(scratch.path())?.options;
    options.extend(opened.in_force.settings.clone());
    Ok(Defaults { version: opened.in_force.version.clone(), options })
}

impl RocksDb {
    fn open(ask: &Ask<'_>) -> Result<Self, StoreError> {
        let loaded = Loaded::load(ask.library)?;
        let api: &'static Api = Box::leak(Box::new(Api::find(&loaded)?));
        let choices = Choices::new(ask.settings)?;
        let is_new = ask.opening == Opening::Create;
        let options = Options::new(api, loaded.asked(), &choices, is_new)?;
        let claim = Claim::take(ask.folder, ask.opening)?;
        let name = CString::new(ask.folder.as_os_str().as_encoded_bytes());
        let name = name.map_err(|error| StoreError::Failed(error.to_string()))?;
        // SAFETY: the options are alive, and the name is terminated.
        let opened = api
            .checked(|error| unsafe { (api.rocksdb_open)(options.handle(), name.as_ptr(), error) });
        let database = NonNull::new(opened.map_err(|reason| failed(ask.folder, reason))?);
        let database = database
            .ok_or_else(|| StoreError::Failed("RocksDB gave no database and no error".into()))?;
        let [read, write, load] = operation_options(api, &choices);
        let mut opened = Self {
            api,
            database,
            options,
            has_statistics: choices.statistics.is_some(),
            counter_names: Vec::new(),
            read,
            write,
            load,
            folder: ask.folder.to_owned(),
            in_force: InForce::default(),
            _claim: claim,
        };
        opened.counter_names = opened.counted().map(|(name, _)| &*name.leak()).collect();
        opened.in_force = opened.read_back(&choices)?;
        Ok(opened)
    }

    /// What the OPTIONS file and the LOG say, compared with what was asked for.
    fn read_back(&self, choices: &Choices) -> Result<InForce, StoreError> {
        let file = OptionsFile::newest(&self.folder)?;
        let log = log_file::read(&self.folder);
        let mut settings = options::compare(&choices.options, &file.options)?;
        settings.extend(choices.own());
        settings.extend(reported(&file, &log));
        for (name, value) in choices.own() {
            let in_force = settings.get(&name).cloned().unwrap_or_default();
            if !crate::settings::is_same(&value, &in_force) {
                return Err(StoreError::NotInForce { name, given: value, in_force });
            }
        }
        let library = file_of(self.api.rocksdb_open as usize).unwrap_or_default();
        Ok(InForce { version: file.version, library, settings, log })
    }

    /// What the statistics say now; nothing without them.
    fn counted(&self) -> impl Iterator<Item = (String, u64)> {
        let options = self.options.handle();
        let text = self.has_statistics.then(|| {
            // SAFETY: the options are alive, and the text is the library's.
            unsafe {
                let text = (self.api.rocksdb_options_statistics_get_string)(options);
                self.api.take_text(text).unwrap_or_default()
            }
        });
        let text = text.unwrap_or_default();
        statistics::parse(&text).collect::<Vec<_>>().into_iter()
    }

    fn is_any(&self, properties: &[&str]) -> bool {
        properties.iter().any(|name| self.property(name).is_some_and(|value| value != "0"))
    }

    /// Waits for work in the background.
    fn wait(&self, stop: &AtomicBool) -> Result<(), StoreError> {
        let mut idle_since = Instant::now();
        loop {
            let is_running = self.is_any(&RUNNING);
            if is_running {
                idle_since = Instant::now();
            } else if !self.is_any(&PENDING) || idle_since.elapsed() > PATIENCE {
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(StoreError::Stopped);
            }
            std::thread::sleep(POLL);
        }
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open, the name is terminated, and the text is the library's.
        unsafe {
            let text = (self.api.rocksdb_property_value)(self.database.as_ptr(), name.as_ptr());
            self.api.take_text(text)
        }
    }
}

/// What the LOG and the OPTIONS file say of Assay's own settings.
fn reported(file: &OptionsFile, log: &Facts) -> Settings {
    let mut found = Settings::new();
    let mut put = |name: &str, value: &str| found.insert(name.to_owned(), value.to_owned());
    put("memtable", Memtable::of_class(file.memtable_factory()));
    if let Some(class) = log.get("block_cache_name") {
        put("cache", Cache::of_class(class));
    }
    if let Some(bytes) = log.get("block_cache_capacity") {
        put("cache_bytes", bytes);
    }
    if let Some(bytes) = log.get("row_cache") {
        put("row_cache_bytes", if bytes == "None" { "0" } else { bytes });
    }
    found
}

/// Options of reads, of writes, and of writes that load.
fn operation_options(api: &Api, choices: &Choices) -> [Handle; 3] {
    // SAFETY: handles are used by their own kind of function.
    unsafe {
        let read = (api.rocksdb_readoptions_create)();
        (api.rocksdb_readoptions_set_verify_checksums)(read, choices.verify_checksums.into());
        (api.rocksdb_readoptions_set_total_order_seek)(read, 1);
        let write = (api.rocksdb_writeoptions_create)();
        (api.rocksdb_writeoptions_set_sync)(write, choices.sync.into());
        (api.rocksdb_writeoptions_disable_WAL)(write, (!choices.wal).into());
        let load = (api.rocksdb_writeoptions_create)();
        (api.rocksdb_writeoptions_disable_WAL)(load, 1);
        [read, write, load]
    }
}

/// An error of the library.
fn failed(folder: &Path, reason: String) -> StoreError {
    let place = folder.display().to_string();
    let is_locked = reason.contains("lock hold by current process")
        || reason.contains("LOCK") && reason.contains("Resource temporarily unavailable");
    if is_locked {
        StoreError::InUse { folder: place, reason }
    } else if reason.contains("No space left on device") {
        StoreError::Full { folder: place, reason }
    } else if reason.contains("create_if_missing is false") {
        let reason = "there is no RocksDB database: prepare the data first".to_owned();
        StoreError::Folder { folder: place, reason }
    } else if reason.starts_with("Corruption") {
        StoreError::Corrupt { folder: place, reason }
    } else {
        StoreError::Failed(format!("RocksDB, {place}: {reason}"))
    }
}

impl Store for RocksDb {
    fn session(&self) -> Result<Box<dyn Session + '_>, StoreError> {
        Ok(Box::new(RocksSession { rocks: self, record: Vec::new() }))
    }

    fn in_force(&self) -> &InForce {
        &self.in_force
    }

    fn settle(&self, stop: &AtomicBool) -> Result<(), StoreError> {
        let (api, database) = (self.api, self.database.as_ptr());
        // SAFETY: the database is open, and the options live as long as the call.
        let flushed = unsafe {
            let options = (api.rocksdb_flushoptions_create)();
            let flushed = api.checked(|error| (api.rocksdb_flush)(database, options, error));
            (api.rocksdb_flushoptions_destroy)(options);
            flushed
        };
        flushed.map_err(|reason| failed(&self.folder, reason))?;
        // SAFETY: the database is open; no keys mean all of them.
        unsafe { (api.rocksdb_compact_range)(database, null(), 0, null(), 0) };
        self.wait(stop)?;
        if self.is_any(&["rocksdb.background-errors"]) {
            let reason = "work in the background failed: the LOG there says why".to_owned();
            return Err(failed(&self.folder, reason));
        }
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let values = self.counted().map(|(_, value)| value);
        self.counter_names.iter().copied().zip(values).collect()
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: sessions borrow the database, so none is left; each is destroyed once.
        unsafe {
            (self.api.rocksdb_close)(self.database.as_ptr());
            (self.api.rocksdb_readoptions_destroy)(self.read);
            (self.api.rocksdb_writeoptions_destroy)(self.write);
            (self.api.rocksdb_writeoptions_destroy)(self.load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_library_are_told_apart() {
        let kind = |text: &str| failed(Path::new("/data"), text.to_owned());
        let lock = "IO error: While lock file: /data/LOCK: Resource temporarily unavailable";
        assert!(matches!(kind(lock), StoreError::InUse { .. }));
        let full = "IO error: No space left on device: While appending to file: /data/000009.sst";
        assert!(matches!(kind(full), StoreError::Full { .. }));
        let absent = "Invalid argument: /data/CURRENT: does not exist (create_if_missing is false)";
        assert!(matches!(kind(absent), StoreError::Folder { .. }));
        let damaged = "Corruption: block checksum mismatch: stored = 1, computed = 2";
        assert!(matches!(kind(damaged), StoreError::Corrupt { .. }));
        assert!(matches!(kind("Not implemented: x"), StoreError::Failed(_)));
    }

    #[test]
    fn caches_and_memtable_are_what_the_library_reports() {
        let file = OptionsFile::parse("[CFOptions \"default\"]\nmemtable_factory=VectorRepFactory");
        let log = log_file::parse(
            "Options.row_cache: None\n block_cache_name: AutoHyperClockCache\n capacity : 7\n",
        );
        let found = reported(&file, &log);
        let expected = [
            ("cache", "hyper-clock"),
            ("cache_bytes", "7"),
            ("memtable", "vector"),
            ("row_cache_bytes", "0"),
        ];
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }
}
