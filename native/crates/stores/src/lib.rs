//! Stores that are libraries: the same YCSB work on RocksDB and on SQLite, in this process.
//!
//! A library is loaded by its path, so that another build of it is another file and nothing else
//! differs: the same harness, the same calls, the same checks. What is particular to a library is
//! in its folder, behind [`Store`] and [`Session`].
//!
//! | module | what |
//! |---|---|
//! | [`library`] | a shared library, its functions by name |
//! | [`folder`] | the folder of the data: one action at a time |
//! | [`settings`] | settings as texts |
//! | [`look`] | what comes back must be a record of the workload |
//! | [`operations`] | YCSB's operations on a session; the look at all records |
//! | [`rocksdb`] | RocksDB's C interface |
//! | [`sqlite`] | SQLite's |

pub mod error;
pub mod folder;
pub mod library;
pub mod look;
pub mod operations;
pub mod rocksdb;
pub mod settings;
pub mod sqlite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_workload::{KeyText, Values};

pub use error::StoreError;
pub use folder::Opening;
pub use look::{Look, Shape, Visitor};
pub use operations::{Found, belongs, carry_out, look_through};
pub use settings::Settings;

/// Which library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// RocksDB.
    RocksDb,
    /// SQLite.
    Sqlite,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 2] = [Kind::RocksDb, Kind::Sqlite];

    /// The name used in requests.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RocksDb => "rocksdb",
            Kind::Sqlite => "sqlite",
        }
    }
}

/// What is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Which library.
    pub kind: Kind,
    /// Its file.
    pub library: &'a Path,
    /// Where the data are, or are to be.
    pub folder: &'a Path,
    /// Whether data are there.
    pub opening: Opening,
    /// Settings by the library's own names, and Assay's.
    pub settings: &'a Settings,
    /// What records look like.
    pub shape: Shape,
    /// Sessions at the same time.
    pub sessions: usize,
}

/// What is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// The library's version, as it says it.
    pub version: String,
    /// The file that was loaded, links resolved.
    pub library: PathBuf,
    /// Every setting that was given or is Assay's, as read back.
    pub settings: Settings,
    /// What the library says of itself and its host.
    pub log: BTreeMap<String, String>,
}

/// The settings of a library, with their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The library's version.
    pub version: String,
    /// Value by name.
    pub options: Settings,
}

/// Data in a folder, open. Dropping it closes them in order.
pub trait Store: Sync {
    /// A session for the calling thread.
    ///
    /// # Errors
    /// Those of the library.
    fn session(&self) -> Result<Box<dyn Session + '_>, StoreError>;

    /// What is in force.
    fn in_force(&self) -> &InForce;

    /// Brings everything to the device and the data to a quiet state.
    ///
    /// # Errors
    /// Those of the library; `Stopped` when told to.
    fn settle(&self, stop: &AtomicBool) -> Result<(), StoreError>;

    /// What the library has counted since it was opened, for all sessions; the same names at every
    /// call.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// One thread's way to the data.
pub trait Session {
    /// Reads the record with a key, if there is one.
    ///
    /// # Errors
    /// Those of the library.
    fn read(&mut self, key: &KeyText, visitor: &mut dyn Visitor) -> Result<(), StoreError>;

    /// Writes one field; false if there is no such record.
    ///
    /// # Errors
    /// Those of the library.
    fn update(&mut self, key: &KeyText, field: usize, value: &[u8]) -> Result<bool, StoreError>;

    /// Adds a record with its initial values.
    ///
    /// # Errors
    /// Those of the library.
    fn insert(&mut self, key: u64, shape: Shape, values: &Values) -> Result<(), StoreError>;

    /// Adds records with their initial values, faster than one by one; for loading only.
    ///
    /// # Errors
    /// Those of the library.
    fn load(&mut self, keys: &[u64], shape: Shape, values: &Values) -> Result<(), StoreError>;

    /// Reads records in the order of their keys, from one on: so many, or all.
    ///
    /// # Errors
    /// Those of the library.
    fn scan(
        &mut self,
        from: &[u8],
        limit: Option<u64>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), StoreError>;

    /// What this session has counted; the same names at every call and in every session.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// Opens the data of a folder, which no other action has meanwhile.
///
/// # Errors
/// Those of the library and the folder; `NotInForce` for a setting that came out otherwise.
pub fn open(ask: &Ask<'_>) -> Result<Box<dyn Store>, StoreError> {
    match ask.kind {
        Kind::RocksDb => rocksdb::open(ask),
        Kind::Sqlite => sqlite::open(ask),
    }
}

/// The settings of a library with their defaults, from data in a temporary folder.
///
/// # Errors
/// Those of the library.
pub fn defaults(kind: Kind, library: &Path) -> Result<Defaults, StoreError> {
    match kind {
        Kind::RocksDb => rocksdb::defaults(library),
        Kind::Sqlite => sqlite::defaults(library),
    }
}
