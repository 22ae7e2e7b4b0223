//! The seam below the log: a place that can be written and synced.
//!
//! Production is a file; tests put a device here that fails at a chosen byte or waits in `sync`.
//! Only one thread at a time is inside: the leader of a group. It must not panic there: the
//! followers would wait for ever (in this program a panic ends the run).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Where the bytes of a log go.
pub trait Storage: Send + Sync + 'static {
    /// Writes all bytes at an offset, or fails.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when everything written before survives a loss of power, or fails.
    fn sync(&self) -> io::Result<()>;

    /// Lets others have the place. Called when the log is closed and nothing will be written any
    /// more, while writers that keep this storage alive may be left.
    fn release(&self) {}
}

/// A file: pwrite and fdatasync.
#[derive(Debug)]
pub(crate) struct FileStorage(pub File);

impl Storage for FileStorage {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn release(&self) {
        // Should it fail, the lock ends with the file, at the latest with the process.
        let _ = self.0.unlock();
    }
}

/// Grows a file to `bytes` with real blocks, so that later syncs need not write its length, and a
/// full disk shows at the start. On ext4 and XFS the blocks still count as unwritten, and the first
/// sync of each journals that it no longer is. Does nothing where the file is that long already.
pub(crate) fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    if bytes <= file.metadata()?.len() {
        return Ok(());
    }
    let length = libc::off_t::try_from(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "beyond the largest file"))?;
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
