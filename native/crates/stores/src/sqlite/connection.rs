//! A connection and its statements.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::api::{self, Api, Handle};
use crate::StoreError;

/// How long a connection sleeps the first, second, ... time that it finds a lock taken, in ms: the
/// delays of SQLite's own handler. The last is used from then on.
const DELAYS_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];
/// How often a statement's whole patience may be in vain while no connection of the store gets through.
const RETRIES: u32 = 3;

/// The connections of one store. SQLite's locks are not fair: one connection may take them again and
/// again while another sleeps, which is slow and no error.
#[derive(Debug, Default)]
pub struct Siblings(Mutex<Vec<Arc<Patience>>>);

impl Siblings {
    /// Statements that any of them has run.
    fn done(&self) -> u64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|one| one.done.load(Ordering::Relaxed)).sum()
    }

    fn join(&self, patience: &Arc<Patience>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(patience));
    }
}

/// How a connection waits for locks, and how often it did.
#[derive(Debug)]
pub struct Patience {
    limit_ms: u64,
    /// Statements that have run. Written by the connection's thread only.
    done: AtomicU64,
    waits: AtomicU64,
    slept_ms: AtomicU64,
    retries: AtomicU64,
}

impl Patience {
    /// Waits at most so long in all for one lock.
    pub fn new(limit_ms: u64) -> Arc<Self> {
        let zero = AtomicU64::default;
        let (done, waits, slept_ms, retries) = (zero(), zero(), zero(), zero());
        Arc::new(Self { limit_ms, done, waits, slept_ms, retries })
    }

    fn got_through(&self) {
        self.done.store(self.done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Sleeps after `before` waits for the same lock; false when that was enough.
    fn wait(&self, before: usize) -> bool {
        let delay = |place: usize| DELAYS_MS[place.min(DELAYS_MS.len() - 1)];
        let slept: u64 = (0..before).map(delay).sum();
        let rest = self.limit_ms.saturating_sub(slept);
        if rest == 0 {
            return false;
        }
        let delay_ms = delay(before).min(rest);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.slept_ms.fetch_add(delay_ms, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(delay_ms));
        true
    }
}

unsafe extern "C" fn on_busy(patience: *mut c_void, before: c_int) -> c_int {
    // SAFETY: the connection was given its own patience, which outlives it.
    let patience = unsafe { &*patience.cast::<Patience>() };
    c_int::from(patience.wait(usize::try_from(before).unwrap_or(0)))
}

/// An open connection, for one thread.
pub struct Connection {
    api: &'static Api,
    handle: Handle,
    /// At one address, for the handler.
    patience: Arc<Patience>,
    siblings: Arc<Siblings>,
    folder: PathBuf,
}

impl Connection {
    /// Opens a file of a folder.
    ///
    /// # Errors
    /// Those of the library.
    pub fn open(
        api: &'static Api,
        folder: &Path,
        file: &Path,
        may_create: bool,
        patience_ms: u64,
        siblings: &Arc<Siblings>,
    ) -> Result<Self, StoreError> {
        let name = CString::new(file.as_os_str().as_encoded_bytes());
        let name = name.map_err(|error| StoreError::Failed(error.to_string()))?;
        let create = if may_create { api::OPEN_CREATE } else { 0 };
        let flags = api::OPEN_READ_WRITE | api::OPEN_NO_MUTEX | create;
        let mut handle = null_mut();
        // SAFETY: the name is terminated; a handle is given even when opening fails.
        let code = unsafe { (api.sqlite3_open_v2)(name.as_ptr(), &raw mut handle, flags, null()) };
        let patience = Patience::new(patience_ms);
        siblings.join(&patience);
        let siblings = Arc::clone(siblings);
        let connection = Self { api, handle, patience, siblings, folder: folder.to_owned() };
        if code != api::OK {
            return Err(connection.failed());
        }
        let patience = Arc::as_ptr(&connection.patience).cast_mut().cast();
        // SAFETY: the connection is open, and its patience lives as long as it.
        unsafe { (api.sqlite3_busy_handler)(handle, Some(on_busy), patience) };
        Ok(connection)
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Those of the library.
    pub fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        let text = CString::new(sql).map_err(|error| StoreError::Failed(error.to_string()))?;
        let mut handle = null_mut();
        // SAFETY: the connection is open, and the text is terminated.
        let code = unsafe {
            (self.api.sqlite3_prepare_v2)(
                self.handle,
                text.as_ptr(),
                -1,
                &raw mut handle,
                null_mut(),
            )
        };
        if code != api::OK {
            return Err(self.failed());
        }
        Ok(Statement { api: self.api, handle })
    }

    /// Runs a statement without parameters; the first column of each row, NULL being empty.
    ///
    /// # Errors
    /// Those of the library.
    pub fn ask(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut rows = Vec::new();
        let keep = |row: &Row<'_>| rows.push(String::from_utf8_lossy(row.text(0)).into_owned());
        self.run(&mut statement, keep)?;
        Ok(rows)
    }

    /// Runs a statement whose parameters are bound and shows each row. One that finds the database
    /// locked before its first row is tried again, which is counted, while any connection of the
    /// store gets through.
    ///
    /// # Errors
    /// Those of the library; `InUse` when another process keeps the database locked.
    pub fn run(
        &self,
        statement: &mut Statement,
        mut visit: impl FnMut(&Row<'_>),
    ) -> Result<(), StoreError> {
        let (mut done, mut in_vain) = (0, 0);
        while in_vain < RETRIES {
            match statement.run(&mut visit) {
                api::BUSY | api::LOCKED => self.patience.retries.fetch_add(1, Ordering::Relaxed),
                api::DONE => {
                    self.patience.got_through();
                    return Ok(());
                }
                _ => return Err(self.failed()),
            };
            let before = std::mem::replace(&mut done, self.siblings.done());
            in_vain = if done == before { in_vain + 1 } else { 1 };
        }
        Err(StoreError::InUse {
            folder: self.folder.display().to_string(),
            reason: format!(
                "SQLite found it locked for {} ms, {RETRIES} times in a row",
                self.patience.limit_ms
            ),
        })
    }

    /// Rows that the last statement wrote.
    pub fn changes(&self) -> c_int {
        // SAFETY: the connection is open.
        unsafe { (self.api.sqlite3_changes)(self.handle) }
    }

    /// What this connection has counted.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let status = api::STATUS.map(|(name, number)| {
            let (mut current, mut highest) = (0, 0);
            // SAFETY: the connection is open, and both numbers are written.
            unsafe {
                let (current, highest) = (&raw mut current, &raw mut highest);
                (self.api.sqlite3_db_status)(self.handle, number, current, highest, 0);
            }
            (name, u64::from(c_int::cast_unsigned(current)))
        });
        let Patience { waits, slept_ms, retries, .. } = &*self.patience;
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let own = [
            ("busy.waits", load(waits)),
            ("busy.slept_ms", load(slept_ms)),
            ("busy.retries", load(retries)),
        ];
        status.into_iter().chain(own).collect()
    }

    /// The last error, told apart.
    #[cold]
    fn failed(&self) -> StoreError {
        // SAFETY: both calls take any handle that opening gave, null included; the text is copied.
        let (code, text) = unsafe {
            let text = (self.api.sqlite3_errmsg)(self.handle);
            ((self.api.sqlite3_extended_errcode)(self.handle), copy(text))
        };
        failed(&self.folder, code, &text)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: closed once; statements that are left end it when they are finalised.
        unsafe { (self.api.sqlite3_close_v2)(self.handle) };
    }
}

/// An error by its extended code.
pub fn failed(folder: &Path, code: c_int, text: &str) -> StoreError {
    let place = folder.display().to_string();
    let reason = format!("SQLite: {text} (code {code})");
    match code & 0xff {
        api::BUSY | api::LOCKED => StoreError::InUse { folder: place, reason },
        api::FULL => StoreError::Full { folder: place, reason },
        api::CORRUPT | api::NO_DATABASE => StoreError::Corrupt { folder: place, reason },
        api::CANNOT_OPEN => {
            let reason = format!("there is no SQLite database: prepare the data first ({reason})");
            StoreError::Folder { folder: place, reason }
        }
        api::IO_ERROR => StoreError::Failed(format!("{place}: reading or writing: {reason}")),
        _ => StoreError::Failed(format!("{place}: {reason}")),
    }
}

/// A copy of a text of the library's.
///
/// # Safety
/// It must be null or terminated.
pub unsafe fn copy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A prepared statement; finalised with this.
pub struct Statement {
    api: &'static Api,
    handle: Handle,
}

/// The current row of a statement.
pub struct Row<'a> {
    statement: &'a Statement,
}

impl Row<'_> {
    /// How many columns it has.
    pub fn columns(&self) -> usize {
        // SAFETY: the statement is alive.
        let columns = unsafe { (self.statement.api.sqlite3_column_count)(self.statement.handle) };
        usize::try_from(columns).unwrap_or(0)
    }

    /// The bytes of a column; none for NULL.
    pub fn text(&self, column: usize) -> &[u8] {
        let (Statement { api, handle }, Ok(column)) = (self.statement, c_int::try_from(column))
        else {
            return &[];
        };
        // SAFETY: the statement stands on a row, whose texts stay until it moves on.
        unsafe {
            let text = (api.sqlite3_column_text)(*handle, column);
            let bytes = (api.sqlite3_column_bytes)(*handle, column);
            match usize::try_from(bytes) {
                Ok(bytes) if !text.is_null() => std::slice::from_raw_parts(text, bytes),
                _ => &[],
            }
        }
    }
}

impl Statement {
    /// Binds a text to a parameter, from 1 on. It is used until the statement has run.
    ///
    /// # Safety
    /// The text must be alive and unchanged whenever the statement runs before it is bound again.
    pub unsafe fn bind_text(&mut self, place: usize, text: &[u8]) {
        let place = place as c_int;
        // SAFETY: the caller vouches for the text; null says that nobody frees it. Texts are far below
        // 2^31 bytes, and places are those of the statement: binding cannot fail.
        unsafe {
            let bytes = text.len() as c_int;
            (self.api.sqlite3_bind_text)(self.handle, place, text.as_ptr(), bytes, null());
        }
    }

    /// Binds a number to a parameter, from 1 on.
    pub fn bind_number(&mut self, place: usize, number: i64) {
        // SAFETY: the statement is alive.
        unsafe { (self.api.sqlite3_bind_int64)(self.handle, place as c_int, number) };
    }

    /// Runs it to its end and resets it, so that no lock stays; the code with which it ended.
    fn run(&mut self, visit: &mut impl FnMut(&Row<'_>)) -> c_int {
        loop {
            // SAFETY: the statement is alive.
            let code = unsafe { (self.api.sqlite3_step)(self.handle) };
            if code == api::ROW {
                visit(&Row { statement: self });
                continue;
            }
            // SAFETY: the statement is alive. Resetting gives the same error again.
            unsafe { (self.api.sqlite3_reset)(self.handle) };
            return code;
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: finalised once.
        unsafe { (self.api.sqlite3_finalize)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_library_are_told_apart() {
        let kind = |code| failed(Path::new("/data"), code, "text");
        assert!(matches!(kind(api::BUSY | 2 << 8), StoreError::InUse { .. }));
        assert!(matches!(kind(api::FULL), StoreError::Full { .. }));
        assert!(matches!(kind(api::CORRUPT | 1 << 8), StoreError::Corrupt { .. }));
        assert!(matches!(kind(api::NO_DATABASE), StoreError::Corrupt { .. }));
        assert!(matches!(kind(api::CANNOT_OPEN), StoreError::Folder { .. }));
        assert!(matches!(kind(1), StoreError::Failed(_)));
    }

    #[test]
    fn patience_ends_after_its_limit_and_counts() {
        let patience = Patience::new(4);
        let waits = (0..).take_while(|before| patience.wait(*before)).count();
        // 1 ms, 2 ms, and the 1 ms that is left.
        assert_eq!(waits, 3);
        assert_eq!(patience.waits.load(Ordering::Relaxed), 3);
        assert_eq!(patience.slept_ms.load(Ordering::Relaxed), 4);
    }
}
