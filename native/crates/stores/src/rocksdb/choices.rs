//! Assay's own settings of RocksDB: what has no option text. The rest is the library's.

use crate::settings::{bytes, take_bytes, take_switch, take_word};
use crate::{Settings, StoreError};

/// The block cache, whose size is always given: the library's own default changed from version to
/// version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Shards, each a list behind a lock.
    Lru,
    /// A table without locks.
    HyperClock,
}

impl Cache {
    const WORDS: [(&'static str, Cache); 2] =
        [("lru", Cache::Lru), ("hyper-clock", Cache::HyperClock)];

    /// The name of a cache that the library reports by the name of its class, such as
    /// `AutoHyperClockCache`; the class itself, if it is another.
    pub fn of_class(class: &str) -> &str {
        match class {
            "LRUCache" => "lru",
            class if class.ends_with("HyperClockCache") => "hyper-clock",
            class => class,
        }
    }

    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Lru => "lru",
            Cache::HyperClock => "hyper-clock",
        }
    }
}

/// What holds records until they are written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memtable {
    /// The library's default.
    SkipList,
    /// Sorted when it is read or full.
    Vector,
    /// A skip list for each prefix.
    HashSkipList,
    /// A linked list for each prefix.
    HashLinkList,
}

impl Memtable {
    const WORDS: [(&'static str, Memtable); 4] = [
        ("skiplist", Memtable::SkipList),
        ("vector", Memtable::Vector),
        ("hash-skiplist", Memtable::HashSkipList),
        ("hash-linklist", Memtable::HashLinkList),
    ];

    /// The name of the library's class.
    pub fn class(self) -> &'static str {
        match self {
            Memtable::SkipList => "SkipListFactory",
            Memtable::Vector => "VectorRepFactory",
            Memtable::HashSkipList => "HashSkipListRepFactory",
            Memtable::HashLinkList => "HashLinkListRepFactory",
        }
    }

    /// The name used in settings of the library's class; the class itself, if it is another.
    pub fn of_class(class: &str) -> &str {
        let known = Self::WORDS.iter().find(|(_, memtable)| memtable.class() == class);
        known.map_or(class, |(word, _)| *word)
    }

    /// How many prefixes it has room for, which a prefix extractor must give: RocksDB's own
    /// defaults; none of one that has no table of prefixes.
    pub fn buckets(self) -> Option<usize> {
        match self {
            Memtable::SkipList | Memtable::Vector => None,
            Memtable::HashSkipList => Some(1_000_000),
            Memtable::HashLinkList => Some(50_000),
        }
    }
}

/// Levels of statistics, with the number that the library gives them.
const LEVELS: [(&str, Option<i32>); 6] = [
    ("off", None),
    ("except-histograms-or-timers", Some(1)),
    ("except-timers", Some(2)),
    ("except-detailed-timers", Some(DEFAULT_LEVEL)),
    ("except-time-for-mutex", Some(4)),
    ("all", Some(5)),
];
/// What statistics have when they are switched on, in every version.
pub const DEFAULT_LEVEL: i32 = 3;

/// Prefixes of a memtable that hashes them, unless another is given: "user" and eight digits, which
/// few records share.
const PREFIX: (&str, &str) = ("prefix_extractor", "capped:12");
const CONCURRENT: &str = "allow_concurrent_memtable_write";

/// The library's options that are not to be given, and what to do instead.
const REFUSED: [(&str, &str); 12] = [
    ("block_cache", "say cache and cache_bytes"),
    ("row_cache", "say row_cache_bytes"),
    ("memtable_factory", "say memtable"),
    ("block_based_table_factory", "give its options by their own names"),
    ("table_factory", "only block-based tables are driven here"),
    ("comparator", "scans need the order of bytes"),
    ("create_if_missing", "the action decides that"),
    ("error_if_exists", "the action decides that"),
    ("db_log_dir", "everything stays in the folder"),
    ("wal_dir", "everything stays in the folder"),
    ("db_paths", "everything stays in the folder"),
    ("cf_paths", "everything stays in the folder"),
];

/// Assay's own settings, and the library's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The kind of block cache.
    pub cache: Cache,
    /// Its bytes.
    pub cache_bytes: u64,
    /// Bytes of the cache of rows; none for 0.
    pub row_cache_bytes: u64,
    /// The kind of memtable.
    pub memtable: Memtable,
    /// Whether blocks that are read from files are compared with their checksums.
    pub verify_checksums: bool,
    /// Whether each write waits for the device.
    pub sync: bool,
    /// Whether writes go to a log first.
    pub wal: bool,
    /// The level of statistics; none for off.
    pub statistics: Option<i32>,
    /// The library's options by their names, what the memtable needs among them.
    pub options: Settings,
}

impl Choices {
    /// Takes the settings of a request.
    ///
    /// # Errors
    /// `Setting` for values that are none, and for combinations that the library would refuse or
    /// silently change.
    pub fn new(given: &Settings) -> Result<Self, StoreError> {
        let mut rest = given.clone();
        let memtable = take_word(&mut rest, "memtable", &Memtable::WORDS, Memtable::SkipList)?;
        let mut choices = Self {
            cache: take_word(&mut rest, "cache", &Cache::WORDS, Cache::Lru)?,
            cache_bytes: take_bytes(&mut rest, "cache_bytes", 32 << 20)?,
            row_cache_bytes: take_bytes(&mut rest, "row_cache_bytes", 0)?,
            memtable,
            verify_checksums: take_switch(&mut rest, "verify_checksums", true)?,
            sync: take_switch(&mut rest, "sync", false)?,
            wal: take_switch(&mut rest, "wal", true)?,
            statistics: take_word(&mut rest, "statistics", &LEVELS, Some(DEFAULT_LEVEL))?,
            options: rest,
        };
        if choices.sync && !choices.wal {
            return Err(StoreError::setting("sync", "it waits for the log: it needs wal true"));
        }
        for (name, instead) in REFUSED {
            if choices.options.contains_key(name) {
                return Err(StoreError::setting(name, format!("it cannot be given: {instead}")));
            }
        }
        choices.add_what_the_memtable_needs()?;
        Ok(choices)
    }

    /// Without a prefix the library takes a skip list instead, and says nothing.
    fn add_what_the_memtable_needs(&mut self) -> Result<(), StoreError> {
        if self.memtable == Memtable::SkipList {
            return Ok(());
        }
        let concurrent = self.options.entry(CONCURRENT.to_owned()).or_insert("false".to_owned());
        if crate::settings::is_same(concurrent, "true") {
            let reason = format!(
                "no memtable but skiplist lets writers in together: leave it out, \
                                  or take memtable skiplist instead of {}",
                Memtable::of_class(self.memtable.class())
            );
            return Err(StoreError::setting(CONCURRENT, reason));
        }
        if let Some(buckets) = self.memtable.buckets() {
            // A table that fills the buffer has it flushed at every write; with assertions in it, as
            // in Debian's build, the library ends the process.
            let least = 2 * (buckets * size_of::<usize>()) as u64;
            if let Some(given) = self.options.get("write_buffer_size")
                && bytes(given).is_some_and(|given| given < least)
            {
                let reason = format!("the table of this memtable needs {least} bytes or more");
                return Err(StoreError::setting("write_buffer_size", reason));
            }
            let (name, capped) = PREFIX;
            let extractor = self.options.entry(name.to_owned()).or_insert(capped.to_owned());
            if extractor == "nullptr" {
                return Err(StoreError::setting(name, "a memtable that hashes prefixes needs one"));
            }
        }
        Ok(())
    }

    /// Assay's own settings as texts.
    pub fn own(&self) -> Settings {
        let level = LEVELS.iter().find(|(_, level)| *level == self.statistics);
        let own = [
            ("cache", self.cache.name().to_owned()),
            ("cache_bytes", self.cache_bytes.to_string()),
            ("row_cache_bytes", self.row_cache_bytes.to_string()),
            ("memtable", Memtable::of_class(self.memtable.class()).to_owned()),
            ("verify_checksums", self.verify_checksums.to_string()),
            ("sync", self.sync.to_string()),
            ("wal", self.wal.to_string()),
            ("statistics", level.map_or("", |(word, _)| *word).to_owned()),
        ];
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn own_settings_have_defaults_and_the_rest_is_the_librarys() {
        let choices = Choices::new(&given(&[("cache", "hyper-clock"), ("block_size", "8K")]));
        let choices = choices.unwrap();
        assert_eq!(choices.cache, Cache::HyperClock);
        assert_eq!(choices.options, given(&[("block_size", "8K")]));
        let own = choices.own();
        let expected = given(&[
            ("cache", "hyper-clock"),
            ("cache_bytes", "33554432"),
            ("row_cache_bytes", "0"),
            ("memtable", "skiplist"),
            ("verify_checksums", "true"),
            ("sync", "false"),
            ("wal", "true"),
            ("statistics", "except-detailed-timers"),
        ]);
        assert_eq!(own, expected);
        assert_eq!(Choices::new(&own).unwrap().own(), expected);
    }

    #[test]
    fn a_memtable_gets_what_it_needs_and_it_is_said() {
        let options =
            |memtable: &str| Choices::new(&given(&[("memtable", memtable)])).unwrap().options;
        assert_eq!(options("skiplist"), given(&[]));
        assert_eq!(options("vector"), given(&[(CONCURRENT, "false")]));
        let hashed = given(&[(CONCURRENT, "false"), PREFIX]);
        assert_eq!(options("hash-skiplist"), hashed);
        assert_eq!(options("hash-linklist"), hashed);
        let fixed = given(&[("memtable", "hash-linklist"), ("prefix_extractor", "fixed:8")]);
        assert_eq!(Choices::new(&fixed).unwrap().options["prefix_extractor"], "fixed:8");
    }

    #[test]
    fn what_the_library_would_change_or_refuse_is_refused() {
        for (pairs, named) in [
            (&[("memtable", "vector"), (CONCURRENT, "true")][..], CONCURRENT),
            (&[("memtable", "hash-skiplist"), ("prefix_extractor", "nullptr")], PREFIX.0),
            (&[("memtable", "hash-skiplist"), ("write_buffer_size", "8M")], "write_buffer_size"),
            (&[("sync", "true"), ("wal", "false")], "sync"),
            (&[("cache", "clock")], "cache"),
            (&[("statistics", "some")], "statistics"),
            (&[("memtable_factory", "vector:10")], "memtable_factory"),
            (&[("wal_dir", "/tmp")], "wal_dir"),
        ] {
            let error = Choices::new(&given(pairs)).unwrap_err();
            assert!(matches!(&error, StoreError::Setting { name, .. } if name == named), "{error}");
        }
    }
}
