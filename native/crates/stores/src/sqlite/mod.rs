//! SQLite, by its C interface.
//!
//! One connection a thread, each statement its own transaction, in the table of the SQL clients:
//! `usertable(ycsb_key TEXT PRIMARY KEY, field0 TEXT, ...)` in the file `store.db`. An update writes
//! its column; a read-modify-write is a read and an update. A lock that is taken is waited for as
//! SQLite's own handler does it (`busy_timeout`), and every wait is counted: with a rollback journal
//! readers and writers wait for each other, with a write-ahead log only writers do.
//!
//! | module | what |
//! |---|---|
//! | [`api`] | the functions |
//! | [`connection`] | a connection and its statements |
//! | [`pragmas`] | settings |

pub mod api;
pub mod connection;
pub mod pragmas;
mod session;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::api::Api;
use self::connection::{Connection, Siblings, copy};
use self::pragmas::Pragmas;
use self::session::{SqliteSession, create_table};
use crate::folder::{Claim, Scratch};
use crate::library::{Loaded, file_of};
use crate::{Ask, Defaults, InForce, Opening, Session, Shape, Store, StoreError};

const FILE: &str = "store.db";

/// An open database.
pub struct Sqlite {
    api: &'static Api,
    folder: PathBuf,
    pragmas: Pragmas,
    shape: Shape,
    in_force: InForce,
    connections: Arc<Siblings>,
    /// Keeps the files of a write-ahead log from being removed while sessions come and go. None
    /// where a second connection would find the file locked.
    first: Option<Keeper>,
    _claim: Claim,
}

/// A connection that is only held open, and closed by whoever drops the store.
struct Keeper {
    _connection: Connection,
}

// SAFETY: it is used by nobody until it is closed, by one thread.
unsafe impl Sync for Keeper {}

/// Opens a database.
///
/// # Errors
/// Those of the library; `NotInForce` for a setting that came out otherwise.
pub fn open(ask: &Ask<'_>) -> Result<Box<dyn Store>, StoreError> {
    let api = load(ask.library)?;
    // SAFETY: the call takes nothing.
    if ask.sessions > 1 && unsafe { (api.sqlite3_threadsafe)() } == 0 {
        return Err(StoreError::Library {
            library: ask.library.display().to_string(),
            reason: "this build of SQLite is for one thread: take one".to_owned(),
        });
    }
    let pragmas = Pragmas::new(ask.settings, ask.sessions)?;
    let claim = Claim::take(ask.folder, ask.opening)?;
    let mut store = Sqlite {
        api,
        folder: ask.folder.to_owned(),
        pragmas,
        shape: ask.shape,
        in_force: InForce::default(),
        connections: Arc::default(),
        first: None,
        _claim: claim,
    };
    let first = store.connect(ask.opening == Opening::Create)?;
    let settings = store.pragmas.apply(&first)?;
    if ask.opening == Opening::Create {
        first.ask(&create_table(ask.shape))?;
    }
    store.in_force = InForce {
        version: version(api),
        library: file_of(api.sqlite3_open_v2 as usize).unwrap_or_default(),
        settings,
        log: facts(api, &first)?,
    };
    let is_exclusive = first.ask("PRAGMA locking_mode")? == ["exclusive"];
    store.first = (!is_exclusive).then_some(Keeper { _connection: first });
    Ok(Box::new(store))
}

/// The settings of an empty database.
///
/// # Errors
/// Those of the library.
pub fn defaults(library: &Path) -> Result<Defaults, StoreError> {
    let api = load(library)?;
    let scratch = Scratch::new()?;
    let file = scratch.path().join(FILE);
    let connection = Connection::open(api, scratch.path(), &file, true, 0, &Arc::default())?;
    Ok(Defaults { version: version(api), options: pragmas::all(&connection)? })
}

fn load(library: &Path) -> Result<&'static Api, StoreError> {
    Ok(Box::leak(Box::new(Api::find(&Loaded::load(library)?)?)))
}

fn version(api: &Api) -> String {
    // SAFETY: the call takes nothing and gives a terminated text.
    unsafe { copy((api.sqlite3_libversion)()) }
}

/// What the library says of itself.
fn facts(api: &Api, connection: &Connection) -> Result<BTreeMap<String, String>, StoreError> {
    // SAFETY: the call takes nothing and gives a terminated text.
    let source = unsafe { copy((api.sqlite3_sourceid)()) };
    let options = connection.ask("PRAGMA compile_options")?.join(" ");
    let facts = [("source_id", source), ("compile_options", options)];
    Ok(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl Sqlite {
    fn connect(&self, may_create: bool) -> Result<Connection, StoreError> {
        let file = self.folder.join(FILE);
        let patience_ms = self.pragmas.patience_ms;
        Connection::open(self.api, &self.folder, &file, may_create, patience_ms, &self.connections)
    }
}

impl Store for Sqlite {
    fn session(&self) -> Result<Box<dyn Session + '_>, StoreError> {
        let connection = self.connect(false)?;
        self.pragmas.apply(&connection)?;
        Ok(Box::new(SqliteSession::new(connection, self.shape)?))
    }

    fn in_force(&self) -> &InForce {
        &self.in_force
    }

    fn settle(&self, _: &AtomicBool) -> Result<(), StoreError> {
        // What is in the log goes to the file; without a log it does nothing.
        self.connect(false)?.ask("PRAGMA wal_checkpoint(TRUNCATE)").map(|_| ())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
