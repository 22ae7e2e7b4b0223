//! The backing store: where pages are while they are not in a frame.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_primitives::crc32c::{Crc32c, Crc32cLevel};

use crate::{CacheError, PageId};

/// A store of pages of one size, for many threads. The pool moves a page by one thread at a time.
pub trait Backing: Send + Sync {
    /// Reads a page that was written before.
    fn read(&self, page: PageId, bytes: &mut [u8]) -> Result<(), CacheError>;

    /// Writes a page.
    fn write(&self, page: PageId, bytes: &[u8]) -> Result<(), CacheError>;
}

/// A file without a name: it goes when the store is dropped, or the process ends however it ends.
///
/// Nothing is synced: the pages are not meant to survive the process. The CRC32C of every page stays
/// in memory, so that a page that comes back changed is an error and is never looked into.
#[derive(Debug)]
pub struct FileBacking {
    file: File,
    folder: PathBuf,
    page_bytes: usize,
    /// By page: `WRITTEN` and the checksum, or 0. Pages are moved by one thread at a time, and the
    /// pool hands them over, so these words need no order of their own.
    checksums: Box<[AtomicU64]>,
    crc32c: Crc32c,
}

const WRITTEN: u64 = 1 << 32;

/// Tries of a name that is taken.
const NAME_TRIES: u32 = 16;

impl FileBacking {
    /// A file for `pages` pages of `page_bytes` bytes in `folder`, with its space reserved, so that
    /// a full disk shows here and not in the middle of a run.
    pub fn create(folder: &Path, pages: usize, page_bytes: usize) -> Result<Self, CacheError> {
        let failed = |call: &str, source| CacheError::Backing {
            folder: folder.to_owned(),
            call: call.to_owned(),
            source,
        };
        let (file, path) = unused_name(folder).map_err(|error| failed("creating it", error))?;
        std::fs::remove_file(path).map_err(|error| failed("unlinking it", error))?;
        let bytes = pages as u64 * page_bytes as u64;
        reserve(&file, bytes)
            .map_err(|error| failed(&format!("reserving {bytes} bytes"), error))?;
        Self::over(file, folder, pages, page_bytes)
    }

    /// Pages in a file that is open already and was not made by `create`, such as a device.
    /// `folder` is for messages.
    pub fn over(
        file: File,
        folder: &Path,
        pages: usize,
        page_bytes: usize,
    ) -> Result<Self, CacheError> {
        let crc32c = Crc32c::new(Crc32cLevel::best(page_bytes))?;
        let checksums = (0..pages).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { file, folder: folder.to_owned(), page_bytes, checksums, crc32c })
    }

    fn checksum(&self, bytes: &[u8]) -> u64 {
        WRITTEN | u64::from(self.crc32c.checksum(bytes))
    }

    fn known(&self, page: PageId) -> Result<&AtomicU64, CacheError> {
        self.checksums.get(page as usize).ok_or(CacheError::Unknown { page })
    }

    fn offset(&self, page: PageId) -> u64 {
        u64::from(page) * self.page_bytes as u64
    }

    fn failed(&self, call: &str, page: PageId, source: io::Error) -> CacheError {
        CacheError::Backing {
            folder: self.folder.clone(),
            call: format!("{call} page {page}"),
            source,
        }
    }
}

/// A new file that only this user may open. The standard library opens with O_CLOEXEC.
fn unused_name(folder: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAME_TRIES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("assay-pages-{process}-{number}"));
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "beyond the largest file"))?;
    if length == 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

impl Backing for FileBacking {
    fn read(&self, page: PageId, bytes: &mut [u8]) -> Result<(), CacheError> {
        debug_assert_eq!(bytes.len(), self.page_bytes);
        let written = self.known(page)?.load(Ordering::Relaxed);
        let read = self.file.read_exact_at(bytes, self.offset(page));
        read.map_err(|error| self.failed("reading", page, error))?;
        if self.checksum(bytes) == written {
            return Ok(());
        }
        Err(CacheError::Changed { page, folder: self.folder.clone() })
    }

    fn write(&self, page: PageId, bytes: &[u8]) -> Result<(), CacheError> {
        debug_assert_eq!(bytes.len(), self.page_bytes);
        let checksum = self.known(page)?;
        let written = self.file.write_all_at(bytes, self.offset(page));
        written.map_err(|error| self.failed("writing", page, error))?;
        checksum.store(self.checksum(bytes), Ordering::Relaxed);
        Ok(())
    }
}
