//! PRAGMAs as settings: applied in order, read back, compared.

use super::connection::Connection;
use crate::settings::{is_same, take_bytes};
use crate::{Settings, StoreError};

/// PRAGMAs that are settings, in the order in which they must be given: those that shape the file come
/// before what makes it. Others act once or report, and are refused.
pub const NAMES: [&str; 26] = [
    "page_size",
    "auto_vacuum",
    "encoding",
    "journal_mode",
    "synchronous",
    "locking_mode",
    "cache_size",
    "cache_spill",
    "mmap_size",
    "wal_autocheckpoint",
    "journal_size_limit",
    "max_page_count",
    "temp_store",
    "secure_delete",
    "automatic_index",
    "cell_size_check",
    "checkpoint_fullfsync",
    "fullfsync",
    "foreign_keys",
    "ignore_check_constraints",
    "read_uncommitted",
    "reverse_unordered_selects",
    "recursive_triggers",
    "threads",
    "analysis_limit",
    "trusted_schema",
];
/// What is reported in any case: it decides what a write costs.
const ALWAYS: [&str; 3] = ["page_size", "journal_mode", "synchronous"];
/// Assay's own: milliseconds for which a connection waits for a lock.
const PATIENCE: &str = "busy_timeout";
const PATIENCE_MS: u64 = 10_000;

/// PRAGMAs that take words and report numbers.
const WORDS: [(&str, &[&str]); 4] = [
    ("synchronous", &["off", "normal", "full", "extra"]),
    ("temp_store", &["default", "file", "memory"]),
    ("auto_vacuum", &["none", "full", "incremental"]),
    ("secure_delete", &["off", "on", "fast"]),
];

/// Settings of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pragmas {
    /// Milliseconds for which a connection waits for a lock.
    pub patience_ms: u64,
    /// In the order in which they are given.
    given: Vec<(&'static str, String)>,
}

impl Pragmas {
    /// Takes the settings.
    ///
    /// # Errors
    /// `Setting` for a name that is no setting, and for values that are no single word or number.
    pub fn new(given: &Settings, sessions: usize) -> Result<Self, StoreError> {
        let mut rest = given.clone();
        let patience_ms = take_bytes(&mut rest, PATIENCE, PATIENCE_MS)?;
        let in_order = NAMES.into_iter().filter_map(|name| Some((name, rest.remove(name)?)));
        let given: Vec<(&str, String)> = in_order.collect();
        if let Some((name, _)) = rest.pop_first() {
            let reason = "that is no PRAGMA which is a setting, and none of Assay's own";
            return Err(StoreError::setting(&name, reason));
        }
        for (name, value) in &given {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if value.is_empty() || !value.bytes().all(is_word) {
                return Err(StoreError::setting(name, format!("{value:?} is no word or number")));
            }
            if *name == "locking_mode" && sessions > 1 && value.eq_ignore_ascii_case("exclusive") {
                let reason = "exclusive lets one connection in: take one thread";
                return Err(StoreError::setting(name, reason));
            }
        }
        Ok(Self { patience_ms, given })
    }

    /// Puts them in force on a connection, and says what is.
    ///
    /// # Errors
    /// `NotInForce` for what came out otherwise; those of the library.
    pub fn apply(&self, connection: &Connection) -> Result<Settings, StoreError> {
        for (name, value) in &self.given {
            connection.ask(&format!("PRAGMA {name}='{value}'"))?;
        }
        let mut in_force = Settings::new();
        in_force.insert(PATIENCE.to_owned(), self.patience_ms.to_string());
        let given = self.given.iter().map(|(name, value)| (*name, Some(value)));
        for (name, value) in given.chain(ALWAYS.map(|name| (name, None))) {
            let found = in_force_of(connection, name)?.ok_or_else(|| {
                StoreError::setting(name, "this build of SQLite does not have it")
            })?;
            if let Some(value) = value
                && !is_same(&as_word(name, value), &found)
            {
                let (name, given) = (name.to_owned(), value.clone());
                return Err(StoreError::NotInForce { name, given, in_force: found });
            }
            in_force.insert(name.to_owned(), found);
        }
        Ok(in_force)
    }
}

/// All settings as they are on a connection.
///
/// # Errors
/// Those of the library.
pub fn all(connection: &Connection) -> Result<Settings, StoreError> {
    let mut found = Settings::new();
    for name in NAMES {
        if let Some(value) = in_force_of(connection, name)? {
            found.insert(name.to_owned(), value);
        }
    }
    found.insert(PATIENCE.to_owned(), PATIENCE_MS.to_string());
    Ok(found)
}

/// What a connection says of a PRAGMA; none if this build does not know it.
fn in_force_of(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let rows = connection.ask(&format!("PRAGMA {name}"))?;
    Ok(rows.into_iter().next().map(|value| as_word(name, &value)))
}

/// A number as the word that it stands for, where it does.
fn as_word(name: &str, value: &str) -> String {
    let words = WORDS.iter().find(|(pragma, _)| *pragma == name).map(|(_, words)| *words);
    let word = words.and_then(|words| words.get(value.parse::<usize>().ok()?));
    word.map_or_else(|| value.to_owned(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_shapes_the_file_is_given_first() {
        let settings = given(&[("journal_mode", "WAL"), ("page_size", "8192"), (PATIENCE, "7")]);
        let pragmas = Pragmas::new(&settings, 2).unwrap();
        let names: Vec<&str> = pragmas.given.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["page_size", "journal_mode"]);
        assert_eq!(pragmas.patience_ms, 7);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (name, value) in [
            ("integrity_check", "1"),
            ("nonsense", "1"),
            ("cache_size", "1; DROP TABLE usertable"),
            ("cache_size", ""),
            ("locking_mode", "EXCLUSIVE"),
            (PATIENCE, "long"),
        ] {
            let error = Pragmas::new(&given(&[(name, value)]), 2).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(Pragmas::new(&given(&[("locking_mode", "exclusive")]), 1).is_ok());
    }

    #[test]
    fn numbers_are_the_words_they_stand_for() {
        assert_eq!(as_word("synchronous", "1"), "normal");
        assert_eq!(as_word("synchronous", "NORMAL"), "NORMAL");
        assert_eq!(as_word("cache_size", "1"), "1");
        assert_eq!(as_word("synchronous", "9"), "9");
    }
}
