//! Folders for the contestants that want files, in memory, gone when the race is over.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct Scratch(PathBuf);

static MADE: AtomicUsize = AtomicUsize::new(0);

impl Scratch {
    /// A new folder inside `parent`.
    pub fn new(parent: &Path) -> Result<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("race-engine-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| {
            format!("cannot make {}; name another folder with --scratch", folder.display())
        })?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind is a nuisance, not an error of the race.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
