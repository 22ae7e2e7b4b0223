//! The libraries that `store` is tried on: Debian's, which `scripts/install-test-tools` installs. Tests
//! that need them are in modules named `libraries`, which emulated runs of another architecture skip.
#![allow(dead_code)] // Each test file uses its own part of this.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// By name of the store the library, as the loader finds it.
pub const LIBRARIES: [(&str, &str); 2] =
    [("rocksdb", "librocksdb.so.7.8"), ("sqlite", "libsqlite3.so.0")];

/// A folder of a test's own, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("assayer-store-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A request of a short action, with more fields.
pub fn request(store: &str, folder: &Folder, action: &str, more: Value) -> Value {
    let library = LIBRARIES.iter().find(|(name, _)| *name == store).unwrap().1;
    let mut request = json!({
        "store": store, "library": library, "path": folder.path().join(store), "action": action,
        "workload": {"kind": "ycsb", "mix": "a", "records": 2000},
        "warmup_ms": 20, "window_ms": 100, "interval_ms": 60, "threads": 2,
    });
    let fields = request.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    request
}
