//! TPC-C's inputs and draws against the specification's shares.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_random::Random;
use assay_workload::tpcc::draws::{Constants, is_legal_delta, last_name, nurand};
use assay_workload::tpcc::inputs::{CustomerChoice, NewOrderInput, PaymentInput};
use assay_workload::tpcc::{Home, Input, Kind, Parameters, Plan, Request, Scale, Selection};

use crate::support::small;

const DRAWS: usize = 115_000;

fn draw(parameters: Parameters, thread: usize, count: usize) -> Vec<Request> {
    let mut stream = Plan::new(parameters).unwrap().stream(thread);
    (0..count).map(|_| stream.take()).collect()
}

/// Four standard deviations: the seed is fixed, so it either always passes or never.
fn assert_share(hits: usize, draws: usize, expected: f64, what: &str) {
    let share = hits as f64 / draws as f64;
    let tolerance = 4.0 * (expected * (1.0 - expected) / draws as f64).sqrt();
    assert!((share - expected).abs() <= tolerance, "{what}: {share} instead of {expected}");
}

fn standard() -> Parameters {
    Parameters { has_waits: false, ..Parameters::standard(4, crate::support::SEED) }
}

fn new_orders() -> Vec<NewOrderInput> {
    let requests = draw(standard(), 0, DRAWS).into_iter();
    let of_kind = requests.filter_map(|request| match request.input {
        Input::NewOrder(input) => Some(input),
        _ => None,
    });
    of_kind.collect()
}

fn payments() -> Vec<PaymentInput> {
    let requests = draw(standard(), 0, DRAWS).into_iter();
    let of_kind = requests.filter_map(|request| match request.input {
        Input::Payment(input) => Some(input),
        _ => None,
    });
    of_kind.collect()
}

#[test]
fn the_same_seed_gives_the_same_inputs_and_another_does_not() {
    let once = draw(standard(), 0, 1000);
    assert_eq!(once, draw(standard(), 0, 1000));
    assert_ne!(once, draw(standard(), 1, 1000), "threads differ");
    assert_ne!(once, draw(Parameters { seed: 43, ..standard() }, 0, 1000), "seeds differ");
}

#[test]
fn every_deck_has_its_23_cards() {
    let requests = draw(standard(), 0, 23 * 10);
    for deck in requests.chunks(23) {
        for kind in Kind::ALL {
            let cards = deck.iter().filter(|request| request.input.kind() == kind).count();
            assert_eq!(cards, kind.cards(), "{}", kind.name());
        }
    }
    let second = &requests[23..46];
    assert_ne!(&requests[..23], second, "each deck is shuffled anew");
}

#[test]
fn weighted_kinds_have_their_shares() {
    let requests = draw(Parameters { selection: Selection::Weighted, ..standard() }, 0, DRAWS);
    for kind in Kind::ALL {
        let hits = requests.iter().filter(|request| request.input.kind() == kind).count();
        assert_share(hits, DRAWS, kind.weight_percent() as f64 / 100.0, kind.name());
    }
}

#[test]
fn new_orders_are_as_specified() {
    let inputs = new_orders();
    let unused = Scale::standard(4).unused_item();
    let rolled_back = inputs.iter().filter(|input| input.lines().last().unwrap().item == unused);
    assert_share(rolled_back.count(), inputs.len(), 0.01, "rolled back");
    let lines: Vec<_> = inputs.iter().flat_map(|input| input.lines()).collect();
    let remote = lines.iter().filter(|line| line.supply_warehouse != 1).count();
    assert_share(remote, lines.len(), 0.01, "remote lines");
    for count in 5..=15 {
        let hits = inputs.iter().filter(|input| input.lines().len() == count).count();
        assert_share(hits, inputs.len(), 1.0 / 11.0, "lines");
    }
    for input in &inputs {
        assert_eq!(input.warehouse, 1);
        assert!((1..=10).contains(&input.district) && (1..=3000).contains(&input.customer));
        let (last, others) = input.lines().split_last().unwrap();
        assert!(others.iter().all(|line| (1..=100_000).contains(&line.item)));
        assert!((1..=unused).contains(&last.item));
    }
    assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity)));
    assert!(lines.iter().all(|line| (1..=4).contains(&line.supply_warehouse)));
}

#[test]
fn payments_are_as_specified() {
    let inputs = payments();
    let is_name = |input: &&PaymentInput| matches!(input.customer, CustomerChoice::LastName(_));
    assert_share(inputs.iter().filter(is_name).count(), inputs.len(), 0.6, "by last name");
    let remote = inputs.iter().filter(|input| input.customer_warehouse != input.warehouse);
    assert_share(remote.count(), inputs.len(), 0.15, "remote customers");
    let local = inputs.iter().filter(|input| input.customer_warehouse == input.warehouse);
    assert!(local.into_iter().all(|input| input.customer_district == input.district));
    assert!(inputs.iter().all(|input| (100..=500_000).contains(&input.amount_cents)));
    let mut keys: Vec<_> = inputs.iter().map(|input| input.history_sequence).collect();
    keys.dedup();
    assert_eq!(keys.len(), inputs.len(), "history keys are the stream's own");
}

#[test]
fn with_one_warehouse_nothing_is_remote() {
    for request in draw(small(1), 3, 2000) {
        match request.input {
            Input::NewOrder(input) => {
                assert!(input.lines().iter().all(|line| line.supply_warehouse == 1));
            }
            Input::Payment(input) => assert_eq!(input.customer_warehouse, 1),
            _ => {}
        }
    }
}

#[test]
fn a_fixed_home_is_the_terminals_and_a_drawn_one_is_everywhere() {
    for (home, expected) in [(Home::Fixed, vec![3]), (Home::Drawn, vec![1, 2, 3, 4])] {
        let requests = draw(Parameters { home, ..standard() }, 6, 2000);
        let mut seen: Vec<u16> = requests
            .iter()
            .filter_map(|request| match request.input {
                Input::Payment(input) => Some(input.warehouse),
                _ => None,
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, expected, "{home:?}");
    }
}

#[test]
fn waits_are_the_specified_ones_or_none() {
    let with = draw(Parameters { has_waits: true, ..standard() }, 0, DRAWS);
    for kind in Kind::ALL {
        let of_kind: Vec<_> = with.iter().filter(|one| one.input.kind() == kind).collect();
        assert!(of_kind.iter().all(|one| one.keying_time == kind.keying_time()));
        let sum: f64 = of_kind.iter().map(|one| one.think_time.as_secs_f64()).sum();
        let ratio = sum / of_kind.len() as f64 / kind.think_time_mean().as_secs_f64();
        let tolerance = 4.0 / (of_kind.len() as f64).sqrt();
        assert!((ratio - 1.0).abs() < tolerance, "{}: {ratio}", kind.name());
        assert!(of_kind.iter().all(|one| one.think_time <= 10 * kind.think_time_mean()));
    }
    let without = draw(standard(), 0, 100);
    assert!(without.iter().all(|one| one.keying_time + one.think_time == Duration::ZERO));
}

/// P(value) of NURand before C is added, counted over all pairs of a small case.
#[test]
fn nurand_has_the_distribution_of_its_definition() {
    let (a, c, x, y) = (7_u64, 5_u64, 1_u64, 20_u64);
    let mut expected = BTreeMap::new();
    for first in 0..=a {
        for second in x..=y {
            let value = ((first | second) + c) % (y - x + 1) + x;
            *expected.entry(value).or_insert(0.0) += 1.0 / ((a + 1) * (y - x + 1)) as f64;
        }
    }
    let mut random = Random::new(crate::support::SEED, 1);
    let mut counts = BTreeMap::new();
    for _ in 0..DRAWS {
        *counts.entry(nurand(&mut random, a, c, x..=y)).or_insert(0) += 1;
    }
    for value in x..=y {
        let hits = counts.get(&value).copied().unwrap_or(0);
        let share = expected.get(&value).copied().unwrap_or(0.0);
        assert_share(hits, DRAWS, share, &format!("NURand {value}"));
    }
}

/// How many of the 8,192 x 100,000 pairs of NURand(8191, 1, 100000) give each item.
///
/// In a block of 8,192 numbers of which all can be drawn, a result with n one-bits comes from 3^n
/// pairs, for each one-bit can come from either side or both. The last block ends at 100,000.
fn item_pairs(c: u64) -> Vec<u64> {
    let (items, block) = (100_000_u64, 8192_u64);
    let mut pairs = vec![0; items as usize + 1];
    for low in 0..block {
        let whole = 3_u64.pow(low.count_ones());
        let fits = |second: &u64| second & !low == 0;
        let last = (0..=items % block).filter(fits).map(|second| 1 << second.count_ones()).sum();
        for high in 0..=items / block {
            // Zero cannot be drawn: that takes one pair from each result of the first block.
            let count: u64 = match high {
                0 => whole - 1,
                12 => last,
                _ => whole,
            };
            pairs[((high * block + low + c) % items + 1) as usize] += count;
        }
    }
    assert_eq!(pairs.iter().sum::<u64>(), block * items);
    pairs
}

#[test]
fn the_hottest_tenth_of_the_items_has_its_exact_share() {
    let constants = Constants::new(crate::support::SEED);
    let pairs = item_pairs(constants.item);
    let mut items: Vec<usize> = (1..pairs.len()).collect();
    items.sort_unstable_by_key(|item| std::cmp::Reverse(pairs[*item]));
    let mut is_hot = vec![false; pairs.len()];
    items[..10_000].iter().for_each(|item| is_hot[*item] = true);
    let hot: u64 = items[..10_000].iter().map(|item| pairs[*item]).sum();
    let mut random = Random::new(crate::support::SEED, 2);
    let draws = (0..DRAWS).map(|_| constants.item(&mut random, &Scale::standard(1)) as usize);
    let hits = draws.filter(|item| is_hot[*item]).count();
    assert_share(hits, DRAWS, hot as f64 / (8192.0 * 100_000.0), "hottest tenth");
}

#[test]
fn the_run_constant_keeps_its_legal_distance() {
    for seed in 0..1000 {
        let constants = Constants::new(seed);
        let delta = constants.last_name_load.abs_diff(constants.last_name_run);
        assert!(is_legal_delta(delta), "seed {seed}: {delta}");
        assert!(constants.customer <= 1023 && constants.item <= 8191);
    }
    let illegal: Vec<u64> = (60..=125).filter(|delta| !is_legal_delta(*delta)).collect();
    let expected = [60, 61, 62, 63, 64, 96, 112, 120, 121, 122, 123, 124, 125];
    assert_eq!(illegal, expected);
}

#[test]
fn last_names_are_made_of_syllables() {
    assert_eq!(last_name(0), "BARBARBAR");
    assert_eq!(last_name(371), "PRICALLYOUGHT");
    assert_eq!(last_name(999), "EINGEINGEING");
}

#[test]
fn wrong_scales_are_refused_by_name() {
    let scale = Scale::small(1);
    for (name, scale) in [
        ("warehouses", Scale { warehouses: 0, ..scale }),
        ("customers", Scale { customers: 3001, ..scale }),
        ("items", Scale { items: 100_001, ..scale }),
    ] {
        let refused = Plan::new(Parameters { scale, ..small(1) }).unwrap_err().to_string();
        assert!(refused.contains(&format!("workload.{name}")), "{refused}");
    }
    assert!(scale.label().starts_with("not TPC-C scale"));
    assert_eq!(Scale::standard(2).label(), "TPC-C scale, 2 warehouses");
}
