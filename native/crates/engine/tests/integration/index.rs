//! The sharded index against a `BTreeMap`.

use std::collections::BTreeMap;

use assay_engine::index::sharded::Sharded;
use assay_engine::index::{Entry, Index};
use assay_engine::page::RowId;
use assay_primitives::locks::{Waiting, WordLock};
use assay_primitives::{Arena, Clock, Hint, LockContext, LockKind, PageMode};
use assay_random::Random;

#[test]
fn the_index_answers_like_an_ordered_map() {
    let waiting = Waiting::new(LockKind::Tas, Hint::None, 1, Clock::calibrated()).unwrap();
    let mut waiter = LockContext::new(waiting);
    let arena = Arena::new(1 << 20, PageMode::Small).unwrap();
    let index = Sharded::<WordLock>::new(&arena, 2000, 0).unwrap();
    let mut twin = BTreeMap::new();
    let mut random = Random::new(3, 3);
    // The ends of the key space, and 2^63, which one hash value gives.
    let edges = [0, 1, (1 << 63) - 1, 1 << 63];
    for step in 0..2000_u32 {
        let key = edges.get(step as usize).copied().unwrap_or_else(|| random.bits() >> 1);
        let key = if step % 10 == 9 { key >> 50 } else { key };
        let row = RowId::new(step, (step % 7) as u16);
        let is_new = !twin.contains_key(&key);
        twin.entry(key).or_insert(row);
        assert_eq!(index.insert(Entry { key, row }, &mut waiter), is_new);
        let probe = random.bits() >> 1;
        assert_eq!(index.find(probe, &mut waiter), twin.get(&probe).copied());
        assert_eq!(index.find(key, &mut waiter), twin.get(&key).copied());
        if step % 20 == 0 {
            let count = random.below(60) as usize;
            let mut found = Vec::new();
            index.scan(probe, count, &mut waiter, &mut found);
            let expected: Vec<Entry> =
                twin.range(probe..).take(count).map(|(&key, &row)| Entry { key, row }).collect();
            assert_eq!(found, expected, "from {probe}");
        }
    }
}
