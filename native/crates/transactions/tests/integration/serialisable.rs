//! Histories of every kind over every index have no cycle.

use assay_index::IndexKind;
use assay_transactions::{ConcurrencyControl, checker};

use crate::stress::{Mix, TABLE, WORDS};

fn serialisable<C: ConcurrencyControl>(index: IndexKind, mix: Mix, seed: u64) {
    let database = crate::support::database::<C>(&crate::support::schemas(1, WORDS), index);
    crate::stress::load(&database, mix.keys);
    let (history, counts) = crate::stress::run(&database, mix, seed);
    let loaded = (0..mix.keys).step_by(2).map(|key| (TABLE, key));
    let (kind, index) = (C::KIND.name(), index.name());
    assert_eq!(history.len() as u64, counts.commits);
    if let Err(anomaly) = checker::check(loaded, &history) {
        panic!("{kind} over {index}, seed {seed}: {anomaly}");
    }
}

#[test]
fn hot_keys_that_come_and_go_make_no_cycle() {
    for index in IndexKind::ALL {
        for (keys, threads) in [(4, 2), (12, 4), (10, 2)] {
            let mix = Mix {
                keys,
                threads,
                transactions: if threads == 4 { 1000 } else { 3000 },
                is_ordered: index.is_ordered(),
                has_inserts: true,
                yields: threads == 4,
                is_mistaken: false,
            };
            every_kind!(serialisable(index, mix, keys));
        }
    }
}

#[test]
fn hot_keys_that_stay_make_no_cycle() {
    for index in IndexKind::ALL {
        let mix = Mix {
            keys: 6,
            threads: 3,
            transactions: 1000,
            is_ordered: index.is_ordered(),
            has_inserts: false,
            yields: true,
            is_mistaken: false,
        };
        every_kind!(serialisable(index, mix, 7));
    }
}
