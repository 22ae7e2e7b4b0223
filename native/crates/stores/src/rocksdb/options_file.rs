//! The OPTIONS file that RocksDB writes when it opens: what is in force.
//!
//! Sections `[Version]`, `[DBOptions]`, `[CFOptions "default"]` and
//! `[TableOptions/BlockBasedTable "default"]` with lines `name=value`. Names of the three sections do
//! not meet.

use std::fs;
use std::path::Path;

use crate::{Settings, StoreError};

/// What an OPTIONS file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsFile {
    /// The version that wrote it.
    pub version: String,
    /// Every option of the database, of the default column family and of its tables.
    pub options: Settings,
}

impl OptionsFile {
    /// Reads the newest of a folder.
    ///
    /// # Errors
    /// `Failed` when there is none, or it cannot be read.
    pub fn newest(folder: &Path) -> Result<Self, StoreError> {
        let failed = |reason: String| {
            StoreError::Failed(format!("the OPTIONS file in {}: {reason}", folder.display()))
        };
        let entries = fs::read_dir(folder).map_err(|error| failed(error.to_string()))?;
        let numbered = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.strip_prefix("OPTIONS-")?.parse::<u64>().ok();
            Some((number?, path))
        });
        let Some((_, path)) = numbered.max() else {
            return Err(failed("there is none, so nothing can be read back".to_owned()));
        };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Ok(Self::parse(&text))
    }

    /// Reads the text of one.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if let Some((name, value)) = line.split_once('=') {
                found.take(section, name.trim(), value.trim());
            }
        }
        found
    }

    fn take(&mut self, section: &str, name: &str, value: &str) {
        match section {
            "Version" if name == "rocksdb_version" => value.clone_into(&mut self.version),
            "DBOptions" | "CFOptions \"default\"" | "TableOptions/BlockBasedTable \"default\"" => {
                self.options.insert(name.to_owned(), value.to_owned());
            }
            _ => {}
        }
    }

    /// The name of the memtable's factory: `SkipListFactory`, or `{id=SkipListFactory;...}`.
    pub fn memtable_factory(&self) -> &str {
        let value = self.options.get("memtable_factory").map_or("", String::as_str);
        let inner = value.strip_prefix("{id=").unwrap_or(value);
        inner.split([';', '}']).next().unwrap_or(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# This is a RocksDB option file.\n#\n\n[Version]\n  rocksdb_version=7.8.3\n  \
        options_file_version=1.1\n\n[DBOptions]\n  max_background_jobs=2\n  db_host_id=__hostname__\n\
        \n[CFOptions \"default\"]\n  write_buffer_size=67108864\n  \
        compression_opts={enabled=false;level=32767;}\n  \
        memtable_factory={id=HashLinkListRepFactory;bucket_count=5000;}\n\
        [CFOptions \"other\"]\n  write_buffer_size=1\n\
        [TableOptions/BlockBasedTable \"default\"]\n  checksum=kXXH3\n  ";

    #[test]
    fn options_of_the_default_family_are_read_by_name() {
        let file = OptionsFile::parse(TEXT);
        assert_eq!(file.version, "7.8.3");
        let value = |name: &str| file.options.get(name).map(String::as_str);
        assert_eq!(value("max_background_jobs"), Some("2"));
        assert_eq!(value("write_buffer_size"), Some("67108864"));
        assert_eq!(value("compression_opts"), Some("{enabled=false;level=32767;}"));
        assert_eq!(value("checksum"), Some("kXXH3"));
        assert_eq!(value("rocksdb_version"), None);
        assert_eq!(file.options.len(), 6);
    }

    #[test]
    fn a_memtable_is_named_with_and_without_its_own_options() {
        assert_eq!(OptionsFile::parse(TEXT).memtable_factory(), "HashLinkListRepFactory");
        let short = "[CFOptions \"default\"]\nmemtable_factory=SkipListFactory\n";
        assert_eq!(OptionsFile::parse(short).memtable_factory(), "SkipListFactory");
        assert_eq!(OptionsFile::parse("").memtable_factory(), "");
    }
}
