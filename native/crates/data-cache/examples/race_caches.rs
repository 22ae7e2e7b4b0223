//! How many look-ups each data cache does, the data read each time: 65 536 resident pages, zipf,
//! uniform and one page, 1, 2 and 4 threads. A sanity check by hand, not a measurement: rounds are
//! interleaved and the best is taken, but nothing watches what else the machine does.
//!
//! `cargo run --release -p assay-data-cache --example race_caches`
#![allow(clippy::print_stdout, clippy::unwrap_used)] // It prints, and ends at the first error.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use assay_data_cache::{DataCacheKind, PageCache, PageId, Shape, build, kind};
use assay_primitives::locks::{Waiter, Waiting};
use assay_primitives::{Arena, Clock, Hint, LockKind, PageMode};

const PAGES: usize = 65_536;
/// A cache line of each page, so that the table and not the memory is what is read most.
const PAGE_BYTES: usize = 64;
const KEYS: usize = 1 << 16;
const LOOK_UPS: usize = 1 << 20;
const ROUNDS: usize = 3;
const LOCK: LockKind = LockKind::Ttas;

/// xorshift64 (Marsaglia, 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A page by rank: scattered, so that hot pages are not neighbours.
fn scattered(rank: usize) -> PageId {
    (rank.wrapping_mul(0x9E37_79B1) % PAGES) as PageId
}

/// Keys drawn beforehand: zipf by search in the summed weights (theta 0.99), uniform, or one page.
fn keys(pattern: &str, seed: u64) -> Vec<PageId> {
    let mut state = seed;
    let mut sums = Vec::new();
    let mut sum = 0.0;
    for rank in 0..PAGES {
        sum += (rank as f64 + 1.0).powf(-0.99);
        sums.push(sum);
    }
    let draw = |_| match pattern {
        "zipf" => {
            let at = next(&mut state) as f64 / u64::MAX as f64 * sum;
            scattered(sums.partition_point(|sum| *sum < at).min(PAGES - 1))
        }
        "uniform" => (next(&mut state) % PAGES as u64) as PageId,
        _ => 4711,
    };
    (0..KEYS).map(draw).collect()
}

fn look_up(cache: &dyn PageCache, keys: &[PageId], waiter: &mut Waiter) -> u64 {
    let mut sum = 0;
    for step in 0..LOOK_UPS {
        let pinned = cache.pin(keys[step % KEYS], waiter).unwrap();
        // SAFETY: the page is pinned and holds one word at least; nobody writes.
        sum += unsafe { pinned.frame().cast::<u64>().read() };
        cache.unpin(pinned, waiter);
    }
    sum
}

fn millions_per_s(cache: &dyn PageCache, keys: &[Vec<PageId>], waiting: Waiting) -> f64 {
    let barrier = Barrier::new(keys.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = keys
            .iter()
            .map(|keys| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut waiter = Waiter::new(waiting);
                    barrier.wait();
                    black_box(look_up(cache, keys, &mut waiter));
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (LOOK_UPS * keys.len()) as f64 / start.elapsed().as_secs_f64() / 1e6
    })
}

fn main() {
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Yield };
    let waiting = Waiting::new(LOCK, hint, 1 << 10, Clock::calibrated()).unwrap();
    let shape = Shape::resident(PAGES, 64, 64);
    let of_caches: usize =
        DataCacheKind::ALL.into_iter().map(|kind| kind::arena_bytes(kind, LOCK, shape)).sum();
    let arena = Arena::new(PAGES * PAGE_BYTES + 4096 + of_caches, PageMode::Small).unwrap();
    let memory = arena.carve(PAGES * PAGE_BYTES, 4096).unwrap();
    let waiter = &mut Waiter::new(waiting);
    let caches = DataCacheKind::ALL.map(|kind| {
        let cache = build(kind, LOCK, shape, &arena).unwrap();
        for page in 0..PAGES {
            // SAFETY: the arena has room for every page.
            let frame = unsafe { memory.add(page * PAGE_BYTES) };
            let pinned = cache.install(page as PageId, frame, waiter);
            cache.unpin(pinned, waiter);
        }
        cache
    });
    println!("million look-ups a second, best of {ROUNDS}; lock {}", LOCK.name());
    println!(
        "{:8} {:>7} {:>11} {:>11} {:>11} {:>11}",
        "keys", "threads", "one-lock", "partitioned", "hyper-clock", "optimistic"
    );
    for pattern in ["zipf", "uniform", "one page"] {
        for threads in [1, 2, 4] {
            let keys: Vec<_> = (0..threads).map(|seed| keys(pattern, seed + 1)).collect();
            let mut best = [0.0_f64; 4];
            for _ in 0..ROUNDS {
                for (best, cache) in best.iter_mut().zip(&caches) {
                    *best = best.max(millions_per_s(&**cache, &keys, waiting));
                }
            }
            let [one, parts, clock, optimistic] = best;
            println!(
                "{pattern:8} {threads:7} {one:11.1} {parts:11.1} {clock:11.1} {optimistic:11.1}"
            );
        }
    }
}
