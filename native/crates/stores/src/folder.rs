//! The folder of the data: one action at a time, and one that is gone afterwards.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::StoreError;

/// What an action expects of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It is empty, or is not there yet.
    Create,
    /// It holds prepared data.
    Existing,
}

/// A folder that no other action has while this lives.
#[derive(Debug)]
pub struct Claim {
    _folder: File,
}

impl Claim {
    /// Takes the folder; makes it, if it is to be filled.
    ///
    /// # Errors
    /// `Folder` when it is not there, or not empty where it must be; `InUse` when it is taken.
    pub fn take(folder: &Path, opening: Opening) -> Result<Self, StoreError> {
        let wrong =
            |reason: String| StoreError::Folder { folder: folder.display().to_string(), reason };
        if opening == Opening::Create {
            fs::create_dir_all(folder).map_err(|error| wrong(error.to_string()))?;
        }
        let claimed = File::open(folder).map_err(|error| wrong(error.to_string()))?;
        // SAFETY: the file is open; the lock ends with it.
        if unsafe { libc::flock(claimed.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(StoreError::InUse {
                folder: folder.display().to_string(),
                reason: format!("another action has it ({})", io::Error::last_os_error()),
            });
        }
        let entries = fs::read_dir(folder).map_err(|error| wrong(error.to_string()))?.count();
        match opening {
            Opening::Create if entries > 0 => {
                Err(wrong(format!("it is not empty ({entries} entries): give an empty folder")))
            }
            Opening::Existing if entries == 0 => {
                Err(wrong("it is empty: prepare the data first".to_owned()))
            }
            _ => Ok(Self { _folder: claimed }),
        }
    }
}

/// An empty folder in the system's temporary one, removed with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes one.
    ///
    /// # Errors
    /// `Folder` when it cannot be made.
    pub fn new() -> Result<Self, StoreError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-store-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(|error| StoreError::Folder {
            folder: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to who cleans the system's temporary folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_one_action_and_is_empty_where_it_must_be() {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.path().join("data");
        assert!(matches!(Claim::take(&folder, Opening::Existing), Err(StoreError::Folder { .. })));
        let claim = Claim::take(&folder, Opening::Create).unwrap();
        assert!(matches!(Claim::take(&folder, Opening::Create), Err(StoreError::InUse { .. })));
        drop(claim);
        assert!(matches!(Claim::take(&folder, Opening::Existing), Err(StoreError::Folder { .. })));
        fs::write(folder.join("file"), "x").unwrap();
        assert!(matches!(Claim::take(&folder, Opening::Create), Err(StoreError::Folder { .. })));
        assert!(Claim::take(&folder, Opening::Existing).is_ok());
        let gone = scratch.path().to_owned();
        drop(scratch);
        assert!(!gone.exists());
    }
}
