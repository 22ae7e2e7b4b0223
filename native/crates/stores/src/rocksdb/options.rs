//! The library's options object, made from choices.

use std::ffi::CString;
use std::ptr::NonNull;

use super::api::{Api, Handle};
use super::choices::{Cache, Choices, DEFAULT_LEVEL, Memtable};
use crate::{Settings, StoreError};

/// The lists of memtables that hash prefixes: RocksDB's own defaults.
const SKIP_LIST_HEIGHT: i32 = 4;
const SKIP_LIST_BRANCHING: i32 = 4;

/// Options of the library; destroyed with this.
pub struct Options {
    api: &'static Api,
    handle: NonNull<std::ffi::c_void>,
}

impl Options {
    /// Makes them. `library` is named in errors.
    ///
    /// # Errors
    /// `Symbol` for what this version lacks; `Setting` for what it refuses.
    pub fn new(
        api: &'static Api,
        library: &str,
        choices: &Choices,
        is_new: bool,
    ) -> Result<Self, StoreError> {
        let mut options = Self::empty(api)?;
        let handle = options.handle();
        // SAFETY: the options are alive.
        unsafe { (api.rocksdb_options_set_create_if_missing)(handle, is_new.into()) };
        options.set_caches(library, choices)?;
        options.set_memtable(choices.memtable);
        options.set_statistics(library, choices.statistics)?;
        for (name, value) in &choices.options {
            options = options.with(name, value)?;
        }
        Ok(options)
    }

    fn empty(api: &'static Api) -> Result<Self, StoreError> {
        // SAFETY: the call takes nothing.
        let handle = NonNull::new(unsafe { (api.rocksdb_options_create)() });
        let handle = handle.ok_or_else(|| StoreError::Failed("RocksDB gave no options".into()))?;
        Ok(Self { api, handle })
    }

    /// For the library's functions.
    pub fn handle(&self) -> Handle {
        self.handle.as_ptr()
    }

    fn set_caches(&self, library: &str, choices: &Choices) -> Result<(), StoreError> {
        let (api, handle) = (self.api, self.handle());
        let bytes = |bytes: u64| bytes as usize;
        // SAFETY: handles are used by their own kind of function; options and tables hold caches of
        // their own after they were given them, so these are let go.
        unsafe {
            let cache = match choices.cache {
                Cache::Lru => (api.rocksdb_cache_create_lru)(bytes(choices.cache_bytes)),
                Cache::HyperClock => {
                    let create = api.rocksdb_cache_create_hyper_clock;
                    let create = create.ok_or_else(|| {
                        lacks(library, "rocksdb_cache_create_hyper_clock", "cache hyper-clock")
                    })?;
                    // Without an estimate of what an entry takes: the library finds out.
                    create(bytes(choices.cache_bytes), 0)
                }
            };
            let table = (api.rocksdb_block_based_options_create)();
            (api.rocksdb_block_based_options_set_block_cache)(table, cache);
            (api.rocksdb_options_set_block_based_table_factory)(handle, table);
            (api.rocksdb_block_based_options_destroy)(table);
            (api.rocksdb_cache_destroy)(cache);
            if choices.row_cache_bytes > 0 {
                let rows = (api.rocksdb_cache_create_lru)(bytes(choices.row_cache_bytes));
                (api.rocksdb_options_set_row_cache)(handle, rows);
                (api.rocksdb_cache_destroy)(rows);
            }
        }
        Ok(())
    }

    fn set_memtable(&self, memtable: Memtable) {
        let (api, handle) = (self.api, self.handle());
        let buckets = memtable.buckets().unwrap_or(0);
        // SAFETY: the options are alive.
        unsafe {
            match memtable {
                Memtable::SkipList => {}
                Memtable::Vector => (api.rocksdb_options_set_memtable_vector_rep)(handle),
                Memtable::HashSkipList => (api.rocksdb_options_set_hash_skip_list_rep)(
                    handle,
                    buckets,
                    SKIP_LIST_HEIGHT,
                    SKIP_LIST_BRANCHING,
                ),
                Memtable::HashLinkList => {
                    (api.rocksdb_options_set_hash_link_list_rep)(handle, buckets);
                }
            }
        }
    }

    fn set_statistics(&self, library: &str, level: Option<i32>) -> Result<(), StoreError> {
        let (api, handle) = (self.api, self.handle());
        let Some(level) = level else { return Ok(()) };
        // SAFETY: the options are alive.
        unsafe { (api.rocksdb_options_enable_statistics)(handle) };
        if level == DEFAULT_LEVEL {
            return Ok(());
        }
        let set = api.rocksdb_options_set_statistics_level.ok_or_else(|| {
            let needs = "a level of statistics other than except-detailed-timers";
            lacks(library, "rocksdb_options_set_statistics_level", needs)
        })?;
        // SAFETY: the options are alive.
        unsafe { set(handle, level) };
        // SAFETY: the options are alive.
        let found = api.rocksdb_options_get_statistics_level.map(|get| unsafe { get(handle) });
        if found.is_none_or(|found| found == level) {
            return Ok(());
        }
        Err(StoreError::NotInForce {
            name: "statistics".to_owned(),
            given: level.to_string(),
            in_force: found.unwrap_or(level).to_string(),
        })
    }

    /// With one more option: of the database or the column family, or else of the tables.
    fn with(&self, name: &str, value: &str) -> Result<Self, StoreError> {
        let is_plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_plain {
            return Err(StoreError::setting(name, "that is no name of an option"));
        }
        // Braces keep the parts of a value together.
        let is_bare = value.contains(';') && !value.starts_with('{');
        let value = if is_bare { format!("{{{value}}}") } else { value.to_owned() };
        let text = format!("{name}={value}");
        let first = match self.with_text(&text) {
            Ok(options) => return Ok(options),
            Err(reason) => reason,
        };
        let nested = self.with_text(&format!("block_based_table_factory={{{text}}}"));
        nested.map_err(|second| {
            let unknown = "RocksDB has no such option of the database, of the column family or of \
                           block-based tables, and Assay none of its own";
            let known = [first, second].into_iter().find(|reason| !is_unknown(reason));
            StoreError::setting(name, known.unwrap_or_else(|| unknown.to_owned()))
        })
    }

    fn with_text(&self, text: &str) -> Result<Self, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let changed = Self::empty(self.api).map_err(|error| error.to_string())?;
        // SAFETY: both options are alive, and the text is terminated.
        self.api.checked(|error| unsafe {
            (self.api.rocksdb_get_options_from_string)(
                self.handle(),
                text.as_ptr(),
                changed.handle(),
                error,
            );
        })?;
        Ok(changed)
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: destroyed once; a database has copies of its own.
        unsafe { (self.api.rocksdb_options_destroy)(self.handle()) };
    }
}

/// Whether an error says that there is no such option: in words of several versions.
fn is_unknown(reason: &str) -> bool {
    let words = ["Could not find option", "Unrecognized option", "Extra option not recognized"];
    words.iter().any(|known| reason.contains(known))
}

fn lacks(library: &str, symbol: &'static str, purpose: &str) -> StoreError {
    StoreError::Symbol { library: library.to_owned(), symbol, purpose: purpose.to_owned() }
}

/// Compares what was given with what the library reports.
///
/// # Errors
/// `NotInForce` for what came out otherwise; `Setting` for what it does not report.
pub fn compare(given: &Settings, reported: &Settings) -> Result<Settings, StoreError> {
    let mut in_force = Settings::new();
    for (name, value) in given {
        let Some(found) = reported.get(name) else {
            let reason = "RocksDB took it and does not report it, so nothing shows that it acts";
            return Err(StoreError::setting(name, reason));
        };
        // Parts of a value are reported in words of the library's own.
        let has_parts = value.contains([':', ';', '{']);
        if !has_parts && !crate::settings::is_same(value, found) {
            return Err(StoreError::NotInForce {
                name: name.clone(),
                given: value.clone(),
                in_force: found.clone(),
            });
        }
        in_force.insert(name.clone(), found.clone());
    }
    Ok(in_force)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_unknown_option_is_told_from_a_wrong_value_in_every_version() {
        for reason in [
            "Invalid argument: Could not find option: : colour",
            "Invalid argument: Extra option not recognized: colour",
        ] {
            assert!(is_unknown(reason), "{reason}");
        }
        assert!(!is_unknown("Invalid argument: Error parsing block_size:stoull"));
    }

    #[test]
    fn what_was_changed_or_ignored_is_an_error_that_names_both_values() {
        let reported = texts(&[("write_buffer_size", "65536"), ("prefix_extractor", "rocksdb.X")]);
        let same = compare(&texts(&[("write_buffer_size", "64K")]), &reported).unwrap();
        assert_eq!(same, texts(&[("write_buffer_size", "65536")]));
        assert!(compare(&texts(&[("prefix_extractor", "fixed:8")]), &reported).is_ok());
        let changed = compare(&texts(&[("write_buffer_size", "1")]), &reported).unwrap_err();
        let text = changed.to_string();
        assert!(text.contains("write_buffer_size") && text.contains("65536"), "{text}");
        assert!(compare(&texts(&[("max_mem_compaction_level", "3")]), &reported).is_err());
    }
}
