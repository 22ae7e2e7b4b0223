//! Which parts go together: the curated list, and what is near a choice that is not in it.
//!
//! | rule | why |
//! |---|---|
//! | `row-lock` goes with `sharded`, pages, no hash cache, no log, and YCSB | it is the key-value store, which has no transactions |
//! | `sharded` goes with `row-lock` | it has no order that a transaction could depend on |
//! | `hash` goes with whatever looks rows up by key; tables that are scanned have an `optimistic` tree then | what is scanned needs an index with order |
//! | a hash cache goes with a tree, and rows in memory | it is for rows that are cached as rows |
//!
//! Everything that keeps the rules is in the list; nothing else is.

use assay_index::IndexKind;
use assay_log::LogMode;
use assay_primitives::named;
use assay_transactions::CcKind;

use crate::EngineError;

/// How rows are found: by the key-value store's own index, or by one of the transactional ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexChoice {
    /// Sorted arrays under a lock for each range of keys: the key-value store's.
    Sharded,
    /// One of crate `index`.
    Of(IndexKind),
}

impl IndexChoice {
    /// Every choice.
    pub const ALL: [IndexChoice; 4] = [
        IndexChoice::Sharded,
        IndexChoice::Of(IndexKind::Latched),
        IndexChoice::Of(IndexKind::Optimistic),
        IndexChoice::Of(IndexKind::Hash),
    ];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            IndexChoice::Sharded => "sharded",
            IndexChoice::Of(kind) => kind.name(),
        }
    }
}

/// What keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcChoice {
    /// No transactions: each operation locks its row. The key-value store.
    RowLock,
    /// One of crate `transactions`.
    Of(CcKind),
}

impl CcChoice {
    /// Every choice.
    pub const ALL: [CcChoice; 5] = [
        CcChoice::RowLock,
        CcChoice::Of(CcKind::NoWait),
        CcChoice::Of(CcKind::WaitDie),
        CcChoice::Of(CcKind::Optimistic),
        CcChoice::Of(CcKind::MultiVersion),
    ];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            CcChoice::RowLock => "row-lock",
            CcChoice::Of(kind) => kind.name(),
        }
    }
}

named! {
    /// Where the rows of data tables are. System tables are in pages always.
    pub enum Store {
        /// In pages, found through a data cache.
        Pages "pages",
        /// In memory, found by address.
        Memory "memory",
    }
}

/// What a workload asks of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Single rows, and no transactions needed.
    Rows,
    /// Scans of single tables, and no transactions needed.
    Scans,
    /// Transactions with scans.
    Transactions,
}

/// The parts that must go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// How rows are found.
    pub index: IndexChoice,
    /// What keeps transactions apart.
    pub cc: CcChoice,
    /// Where rows are.
    pub store: Store,
    /// Whether a hash cache stands before the tree.
    pub hash_cache: bool,
    /// How commits become durable.
    pub log: LogMode,
}

impl Combination {
    /// The combinations that are built for a demand.
    pub fn listed(demand: Demand) -> impl Iterator<Item = Combination> {
        all().filter(move |combination| combination.is_listed(demand))
    }

    fn is_listed(&self, demand: Demand) -> bool {
        let Self { index, cc, store, hash_cache, log } = *self;
        if cc == CcChoice::RowLock || index == IndexChoice::Sharded {
            return cc == CcChoice::RowLock
                && index == IndexChoice::Sharded
                && store == Store::Pages
                && !hash_cache
                && log == LogMode::None
                && demand != Demand::Transactions;
        }
        let is_hash = index == IndexChoice::Of(IndexKind::Hash);
        // One table that is scanned leaves no table for the hash index.
        let has_order = !(is_hash && demand == Demand::Scans);
        let caches_rows = !hash_cache || (store == Store::Memory && !is_hash);
        has_order && caches_rows
    }

    /// Refuses what is not listed, and says what is near it.
    pub fn require(&self, demand: Demand) -> Result<(), EngineError> {
        if self.is_listed(demand) {
            return Ok(());
        }
        let nearest = Self::listed(demand).map(|listed| self.distance(&listed)).min().unwrap_or(0);
        let near: Vec<String> = Self::listed(demand)
            .filter(|listed| self.distance(listed) == nearest)
            .map(|listed| self.changes_to(&listed))
            .collect();
        Err(EngineError::Unlisted { wanted: self.to_string(), near: near.join("; or ") })
    }

    fn named(&self) -> [(&'static str, &'static str); 5] {
        [
            ("index", self.index.name()),
            ("cc", self.cc.name()),
            ("store", self.store.name()),
            ("hash_cache", if self.hash_cache { "on" } else { "off" }),
            ("log", self.log.name()),
        ]
    }

    fn distance(&self, other: &Self) -> usize {
        self.named().iter().zip(other.named()).filter(|(own, others)| *own != others).count()
    }

    /// What would have to be different, as settings.
    fn changes_to(&self, other: &Self) -> String {
        let (own, others) = (self.named(), other.named());
        let differing = own.iter().zip(others).filter(|(own, other)| *own != other);
        let words: Vec<_> =
            differing.map(|(_, (name, value))| format!("{name} = {value}")).collect();
        words.join(" with ")
    }
}

impl std::fmt::Display for Combination {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.named().map(|(name, value)| format!("{name} = {value}"));
        formatter.write_str(&words.join(", "))
    }
}

fn all() -> impl Iterator<Item = Combination> {
    let indexes = IndexChoice::ALL.into_iter();
    indexes.flat_map(|index| {
        CcChoice::ALL.into_iter().flat_map(move |cc| {
            Store::ALL.into_iter().flat_map(move |store| {
                [false, true].into_iter().flat_map(move |hash_cache| {
                    LogMode::ALL.into_iter().map(move |log| Combination {
                        index,
                        cc,
                        store,
                        hash_cache,
                        log,
                    })
                })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY_VALUE: Combination = Combination {
        index: IndexChoice::Sharded,
        cc: CcChoice::RowLock,
        store: Store::Pages,
        hash_cache: false,
        log: LogMode::None,
    };

    #[test]
    fn the_key_value_store_is_listed_once_and_for_no_transaction() {
        for (demand, times) in [(Demand::Rows, 1), (Demand::Scans, 1), (Demand::Transactions, 0)] {
            let is_it = |listed: &Combination| listed.cc == CcChoice::RowLock;
            assert_eq!(Combination::listed(demand).filter(is_it).count(), times);
        }
    }

    #[test]
    fn what_is_not_listed_is_refused_with_its_neighbours() {
        let hashed = Combination {
            index: IndexChoice::Of(IndexKind::Hash),
            cc: CcChoice::Of(CcKind::Optimistic),
            ..KEY_VALUE
        };
        assert!(
            hashed.require(Demand::Rows).is_ok() && hashed.require(Demand::Transactions).is_ok()
        );
        let refused = hashed.require(Demand::Scans).unwrap_err().to_string();
        assert!(refused.contains("index = latched; or index = optimistic"), "{refused}");
        let cached = Combination { hash_cache: true, ..hashed };
        let refused = cached.require(Demand::Rows).unwrap_err().to_string();
        assert!(refused.contains("hash_cache = off"), "{refused}");
        let mixed = Combination { cc: CcChoice::RowLock, ..hashed };
        let refused = mixed.require(Demand::Rows).unwrap_err().to_string();
        assert!(refused.contains("index = sharded") && refused.contains("cc = no-wait"));
    }

    #[test]
    fn every_neighbour_that_is_named_is_one_step_away_and_listed() {
        for wanted in all() {
            let Err(EngineError::Unlisted { near, .. }) = wanted.require(Demand::Transactions)
            else {
                continue;
            };
            assert!(!near.is_empty(), "{wanted}");
        }
    }
}
