//! Each known mistake, switched on, is found by the checkers that can find it.
//!
//! | mistake | dependency cycles (white box) | lists (`adya`, black box) |
//! |---|---|---|
//! | validation skipped, or shared locks not kept | found | found |
//! | node sets skipped: phantoms | found | cannot see: it knows no scans |
//! | locks released before installing | found | found |
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use assay_index::IndexKind;

use crate::seeded::stress::Mix;
use crate::support::{options, schemas};
use crate::{ConcurrencyControl, Database, SeededBug, checker};

#[path = "../tests/support/lists.rs"]
mod lists;
#[path = "../tests/support/stress.rs"]
mod stress;

/// Mistakes show by chance: this many runs, of which one must show it.
const RUNS: u64 = 4000;
/// And this many must be clean without one.
const CLEAN_RUNS: u64 = 6;

fn database<C: ConcurrencyControl>(words: usize, bug: Option<SeededBug>) -> Database<C> {
    let mut options = options(&schemas(1, words), IndexKind::Optimistic);
    options.bug = bug;
    Database::new(options).unwrap()
}

fn is_found_by_cycles<C: ConcurrencyControl>(bug: Option<SeededBug>) -> bool {
    let has_inserts = bug == Some(SeededBug::NodeSetSkipped);
    let mix = Mix {
        keys: 6,
        threads: 3,
        transactions: 60,
        is_ordered: has_inserts,
        has_inserts,
        yields: true,
        is_mistaken: bug.is_some(),
    };
    (0..runs(bug)).any(|seed| {
        let database = database::<C>(stress::WORDS, bug);
        stress::load(&database, mix.keys);
        let (history, _) = stress::run(&database, mix, seed);
        let loaded = (0..mix.keys).step_by(2).map(|key| (stress::TABLE, key));
        checker::check(loaded, &history).is_err()
    })
}

fn is_found_by_lists<C: ConcurrencyControl>(bug: Option<SeededBug>) -> bool {
    let load = lists::Load { threads: 3, transactions: 60, yields: true };
    (0..runs(bug)).any(|seed| {
        let database = database::<C>(lists::WORDS, bug);
        lists::load_lists(&database, load);
        lists::verdict(&database, load, seed).valid == adya::Valid::False
    })
}

fn cycles_find<C: ConcurrencyControl>(bug: SeededBug) {
    assert!(is_found_by_cycles::<C>(Some(bug)), "{}: {bug:?}", C::KIND.name());
}

fn lists_find<C: ConcurrencyControl>(bug: SeededBug) {
    assert!(is_found_by_lists::<C>(Some(bug)), "{}: {bug:?}", C::KIND.name());
}

fn nothing_is_found<C: ConcurrencyControl>() {
    assert!(!is_found_by_cycles::<C>(None), "{}", C::KIND.name());
    assert!(!is_found_by_lists::<C>(None), "{}", C::KIND.name());
}

#[test]
fn without_a_mistake_the_same_runs_are_clean() {
    crate::every_kind!(nothing_is_found());
}

#[test]
fn skipped_validation_is_found_by_both() {
    crate::every_kind!(cycles_find(SeededBug::ValidationSkipped));
    crate::every_kind!(lists_find(SeededBug::ValidationSkipped));
}

#[test]
fn locks_released_early_are_found_by_both() {
    crate::every_kind!(cycles_find(SeededBug::EarlyRelease));
    crate::every_kind!(lists_find(SeededBug::EarlyRelease));
}

#[test]
fn skipped_node_sets_are_found_as_cycles() {
    crate::every_kind!(cycles_find(SeededBug::NodeSetSkipped));
}

fn runs(bug: Option<SeededBug>) -> u64 {
    if bug.is_some() { RUNS } else { CLEAN_RUNS }
}
