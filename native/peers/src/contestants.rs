//! The one list of contestants: names, classes, settings.
//!
//! | class | what one operation is |
//! |---|---|
//! | transactional | a transaction: it could have held several operations, all or none |
//! | atomic | atomic and isolated by itself; the store's own transactions are not used |
//! | map | an access to a map in memory, nothing around it |
//!
//! README.md repeats the settings, and a test holds the two together.

use anyhow::Result;

use crate::peer::{Peer, Setup};
use crate::peers;

/// What an operation of a contestant stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One operation is one transaction.
    Transactional,
    /// One operation is atomic by itself.
    Atomic,
    /// One operation is an access to a map.
    Map,
}

impl Class {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Class::Transactional => "transactional",
            Class::Atomic => "atomic",
            Class::Map => "map",
        }
    }
}

/// Opens an empty store.
pub type Open = fn(&Setup) -> Result<Box<dyn Peer>>;

/// One contestant.
#[derive(Clone, Copy, Debug)]
pub struct Contestant {
    /// The name used in results.
    pub name: &'static str,
    /// What an operation is.
    pub class: Class,
    /// Threads that it can serve at once; a race of more runs it with as many as this.
    pub threads_max: usize,
    /// Whether it has threads of its own, which may work on after its turn.
    pub has_background: bool,
    /// How it is set up, in words.
    pub settings: &'static str,
    /// Opens it.
    pub open: Open,
}

const fn contestant(
    name: &'static str,
    class: Class,
    settings: &'static str,
    open: Open,
) -> Contestant {
    Contestant { name, class, threads_max: usize::MAX, has_background: false, settings, open }
}

const fn with_background(contestant: Contestant) -> Contestant {
    Contestant { has_background: true, ..contestant }
}

/// Maps of hashed keys are given their capacity and the hasher foldhash; values are arrays.
const HASH_MAP: &str = "capacity given, hasher foldhash, values in the table";

/// What stands after a name with "-batch".
const BATCH: &str = "the same, but told sixteen operations at a time: they are one transaction";

/// Rivals that have transactions.
fn stores() -> Vec<Contestant> {
    use Class::{Atomic, Transactional};
    vec![
        contestant(
            "lmdb",
            Transactional,
            "heed 0.22.1; NOSYNC, WRITEMAP, NOMEMINIT, integer keys, in /dev/shm",
            peers::lmdb::open,
        ),
        contestant("lmdb-batch", Transactional, BATCH, peers::lmdb::open_batched),
        contestant(
            "redb",
            Transactional,
            "4.4.0; in-memory backend, Durability::None, cache larger than the data",
            peers::redb::open,
        ),
        contestant("redb-batch", Transactional, BATCH, peers::redb::open_batched),
        Contestant {
            threads_max: 1,
            ..contestant(
                "sqlite",
                Transactional,
                "rusqlite 0.41.1 bundled; in memory, one connection and one thread, no mutex, \
                 journal in memory, synchronous off, prepared statements, integer primary key, a \
                 column per field",
                peers::sqlite::open,
            )
        },
        Contestant {
            threads_max: 1,
            ..contestant("sqlite-batch", Transactional, BATCH, peers::sqlite::open_batched)
        },
        with_background(contestant(
            "fjall",
            Atomic,
            "3.1.13; cache larger than the data, no compression, journal not flushed, in /dev/shm",
            peers::fjall::open,
        )),
        with_background(contestant(
            "sled",
            Atomic,
            "0.34.7; high throughput, cache larger than the data, no timed flush, in /dev/shm",
            peers::sled::open,
        )),
    ]
}

#[cfg(feature = "rocksdb")]
fn rocksdb() -> Option<Contestant> {
    const SETTINGS: &str = "the system's library; no log, no compression, optimised for point \
                            look-ups, write buffer of 256 MiB, in /dev/shm";
    let rocksdb = contestant("rocksdb", Class::Atomic, SETTINGS, peers::rocksdb::open);
    Some(with_background(rocksdb))
}

#[cfg(not(feature = "rocksdb"))]
fn rocksdb() -> Option<Contestant> {
    None
}

/// Rivals that have none.
fn maps() -> Vec<Contestant> {
    use Class::Map;
    vec![
        contestant("dashmap", Map, HASH_MAP, peers::dashmap::open),
        contestant(
            "papaya",
            Map,
            "capacity given, hasher foldhash, a guard per batch of 64",
            peers::papaya::open,
        ),
        contestant("scc-hash-map", Map, HASH_MAP, peers::scc_hash_map::open),
        contestant(
            "scc-tree-index",
            Map,
            "as it is, values in the leaves",
            peers::scc_tree_index::open,
        ),
        contestant(
            "congee",
            Map,
            "a guard per batch of 64; records in rows of our own under a version word",
            peers::congee::open,
        ),
        contestant("skip-map", Map, "crossbeam-skiplist, as it is", peers::skip_map::open),
        contestant(
            "locked-btree",
            Map,
            "std's BTreeMap in std's RwLock",
            peers::locked_btree::open,
        ),
    ]
}

/// The engine's configurations, then every rival that this binary was built with.
pub fn all() -> Vec<Contestant> {
    let mut found = crate::engine::configurations();
    found.extend(stores());
    found.extend(rocksdb());
    found.extend(maps());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_every_contestant_with_its_settings() {
        let readme = include_str!("../README.md");
        for contestant in all() {
            let row = format!(
                "| {} | {} | {} |",
                contestant.name,
                contestant.class.name(),
                contestant.settings
            );
            assert!(readme.contains(&row), "README.md lacks the row\n{row}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = all().iter().map(|contestant| contestant.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
