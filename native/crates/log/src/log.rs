//! Opening, flushing and closing a log.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use assay_primitives::Clock;

use crate::flusher::Flusher;
use crate::format::{self, FILE_HEADER_BYTES};
use crate::group::{Core, Position};
use crate::recover::read_first_link;
use crate::storage::{FileStorage, Storage, preallocate};
use crate::{LogCounts, LogError, LogMode, Lsn, Recovered, Writer};

/// What can be set about a log beside its mode.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Times the waits.
    pub clock: Clock,
    /// Mode `asynchronous`: the pause between two flushes. What a crash can lose is what was
    /// committed in this time and in the time a flush takes.
    pub flush_every: Duration,
    /// Appending waits for the device while this much is pending. Only mode `asynchronous`, and
    /// workers that append without waiting, can get there.
    pub pending_bytes_max: usize,
    /// The most bytes of writes that one transaction may log; at most 1 GiB.
    pub record_bytes_max: u64,
    /// The file is grown to this length beforehand, so that a sync has less to do; 0 for never.
    pub preallocate_bytes: u64,
}

const RECORD_BYTES_LIMIT: u64 = 1 << 30;

impl Options {
    /// A flush every 10 ms, 64 MiB pending, 16 MiB a record, nothing preallocated: guesses that
    /// suit the transactions of the studies, which log kilobytes.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            flush_every: Duration::from_millis(10),
            pending_bytes_max: 64 << 20,
            record_bytes_max: 16 << 20,
            preallocate_bytes: 0,
        }
    }
}

/// A redo log that takes commits.
///
/// Dropping it is closing it without hearing of errors.
pub struct Log {
    mode: LogMode,
    options: Options,
    /// Nothing in mode `none`.
    core: Option<Arc<Core>>,
    flusher: Option<Flusher>,
}

impl Log {
    /// Makes a new log. In mode `none` the path is not touched.
    ///
    /// # Errors
    /// `Exists`: a log is never overwritten. `InUse`, `Os`.
    pub fn create(
        path: impl AsRef<Path>,
        mode: LogMode,
        options: Options,
    ) -> Result<Self, LogError> {
        let path = path.as_ref();
        if mode == LogMode::None {
            return Ok(Self { mode, options, core: None, flusher: None });
        }
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => LogError::Exists { path: path.to_owned() },
            _ => LogError::os(path, "create", error),
        })?;
        lock_file(&file, path)?;
        let position = start_file(&file, path)?;
        Self::on_file(file, path, mode, options, position)
    }

    /// Goes on with a log that was recovered: cuts its tail, and appends behind its last record.
    /// What stood behind the valid prefix is lost, which is right for a torn tail (see
    /// `Recovered::tail`).
    ///
    /// # Errors
    /// `Changed` when the file is not what was recovered. `InUse`, `NotALog`, `Os`.
    pub fn append_to(
        recovered: &Recovered,
        mode: LogMode,
        options: Options,
    ) -> Result<Self, LogError> {
        let path = &recovered.path;
        if mode == LogMode::None {
            return Ok(Self { mode, options, core: None, flusher: None });
        }
        let os = |call| move |error| LogError::os(path, call, error);
        let file = File::options().read(true).write(true).open(path);
        let mut file = file.map_err(os("open to append"))?;
        lock_file(&file, path)?;
        if file.metadata().map_err(os("read the length"))?.len() != recovered.file_bytes {
            return Err(LogError::Changed { path: path.clone() });
        }
        let position = if recovered.file_bytes == 0 {
            start_file(&file, path)?
        } else {
            let link = read_first_link(&mut file, path, &format::best_crc())?;
            if link != recovered.first_link {
                return Err(LogError::Changed { path: path.clone() });
            }
            file.set_len(recovered.valid_bytes).map_err(os("cut the tail"))?;
            file.sync_all().map_err(os("sync the cut"))?;
            recovered.next
        };
        Self::on_file(file, path, mode, options, position)
    }

    /// Makes a new log on any storage: the seam for tests. `options.preallocate_bytes` is not used.
    ///
    /// # Errors
    /// `Os` when the storage takes no file header.
    pub fn on_storage(
        storage: Box<dyn Storage>,
        mode: LogMode,
        options: Options,
    ) -> Result<Self, LogError> {
        if mode == LogMode::None {
            return Ok(Self { mode, options, core: None, flusher: None });
        }
        let path = PathBuf::from("(storage)");
        let (header, position) = new_header();
        storage
            .write_all_at(&header, 0)
            .and_then(|()| storage.sync())
            .map_err(|error| LogError::os(&path, "write the file header", error))?;
        Self::start(storage, path, mode, options, position)
    }

    fn on_file(
        file: File,
        path: &Path,
        mode: LogMode,
        options: Options,
        position: Position,
    ) -> Result<Self, LogError> {
        preallocate(&file, options.preallocate_bytes)
            .and_then(|()| file.sync_all())
            .map_err(|error| LogError::os(path, "preallocate", error))?;
        Self::start(Box::new(FileStorage(file)), path.to_owned(), mode, options, position)
    }

    fn start(
        storage: Box<dyn Storage>,
        path: PathBuf,
        mode: LogMode,
        mut options: Options,
        position: Position,
    ) -> Result<Self, LogError> {
        options.record_bytes_max = options.record_bytes_max.min(RECORD_BYTES_LIMIT);
        let pending_bytes_max = options.pending_bytes_max.max(1);
        let core = Core::new(storage, path.clone(), position, options.clock, pending_bytes_max);
        let core = Arc::new(core);
        let flusher = (mode == LogMode::Asynchronous)
            .then(|| Flusher::start(Arc::clone(&core), options.flush_every))
            .transpose()
            .map_err(|error| LogError::os(&path, "start the flusher thread", error))?;
        Ok(Self { mode, options, core: Some(core), flusher })
    }

    /// The mode.
    pub fn mode(&self) -> LogMode {
        self.mode
    }

    /// A door for one worker.
    pub fn worker(&self) -> Writer {
        Writer::new(self.mode, self.core.clone(), self.options.record_bytes_max)
    }

    /// Returns when everything appended before the call is on disk.
    ///
    /// # Errors
    /// `Failed` when that cannot be any more.
    pub fn flush(&self) -> Result<Lsn, LogError> {
        let Some(core) = &self.core else { return Ok(Lsn(0)) };
        let lsn = core.appended();
        core.wait(lsn)?;
        Ok(lsn)
    }

    /// The place up to which everything is on disk.
    pub fn durable(&self) -> Lsn {
        self.core.as_ref().map_or(Lsn(0), |core| core.durable())
    }

    /// What the leaders of all groups did so far.
    pub fn counts(&self) -> LogCounts {
        self.core.as_ref().map_or_else(LogCounts::default, |core| core.counts())
    }

    /// Takes no more records, makes durable what there is, and ends the flusher. Writers that are
    /// left get `Closed`.
    ///
    /// # Errors
    /// `Failed` when not everything appended is on disk.
    pub fn close(mut self) -> Result<LogCounts, LogError> {
        self.shut()?;
        Ok(self.counts())
    }

    fn shut(&mut self) -> Result<(), LogError> {
        self.flusher.take();
        let Some(core) = &self.core else { return Ok(()) };
        core.close();
        let result = self.flush();
        core.release();
        result.map(drop)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // An error means that something was not made durable; nobody was told that it is.
        let _ = self.shut();
    }
}

/// One log a file: two writers would overwrite each other. The kernel lets go when the process
/// ends.
fn lock_file(file: &File, path: &Path) -> Result<(), LogError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => LogError::InUse { path: path.to_owned() },
        TryLockError::Error(error) => LogError::os(path, "lock", error),
    })
}

/// Writes the header of an empty file, and makes the file's name durable too.
fn start_file(file: &File, path: &Path) -> Result<Position, LogError> {
    let (header, position) = new_header();
    file.write_all_at(&header, 0)
        .and_then(|()| file.sync_all())
        .map_err(|error| LogError::os(path, "write the file header", error))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| LogError::os(folder, "sync the folder", error))?;
    Ok(position)
}

fn new_header() -> ([u8; FILE_HEADER_BYTES], Position) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let identity = now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40);
    let crc = format::best_crc();
    let header = format::file_header(identity, &crc);
    let link = format::first_link(&header, &crc).expect("a header made here is valid");
    (header, Position { offset: FILE_HEADER_BYTES as u64, sequence: 1, link })
}
