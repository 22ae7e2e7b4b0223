//! Times look-ups in every data cache, the page read each time, in turns.
//!
//! `race_caches ROUNDS MILLISECONDS THREADS...` writes one JSON line per round and contestant:
//! `{"case", "round", "name", "value"}`, the case being the number of threads, the value 1e6 look-ups
//! a second. 65,536 resident pages; keys by Zipf (theta 0.99), and for names that end in "one
//! page" always the same. The order inside a round rotates. benchmarks/primitives.py reads it.

use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_data_cache::{DataCacheKind, PageCache, PageId, Shape, build, kind};
use assay_primitives::locks::{AnyLockContext, Waiting};
use assay_primitives::{Arena, Clock, Hint, LockKind, PageMode};

const PAGES: usize = 65_536;
/// A cache line of each page, so that the table and not the memory is what is read most.
const PAGE_BYTES: usize = 64;
const KEYS: usize = 1 << 16;
/// Look-ups between two looks at the stop flag.
const BATCH: usize = 256;
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

/// Keys drawn beforehand, by search in the summed weights.
fn keys(seed: u64) -> Vec<PageId> {
    let mut state = seed;
    let mut sums = Vec::new();
    let mut sum = 0.0;
    for rank in 0..PAGES {
        sum += (rank as f64 + 1.0).powf(-0.99);
        sums.push(sum);
    }
    let draw = |_| {
        let at = next(&mut state) as f64 / u64::MAX as f64 * sum;
        scattered(sums.partition_point(|sum| *sum < at).min(PAGES - 1))
    };
    (0..KEYS).map(draw).collect()
}

/// Looks up until told to stop; how often.
fn look_up(
    cache: &dyn PageCache,
    keys: &[PageId],
    locks: &mut AnyLockContext,
    stop: &AtomicBool,
) -> u64 {
    let (mut sum, mut done) = (0_u64, 0);
    while !stop.load(Ordering::Relaxed) {
        for step in done..done + BATCH {
            let Some(pinned) = cache.pin(keys[step % keys.len()], locks) else { continue };
            // SAFETY: the page is pinned and holds one word at least; nobody writes.
            sum = sum.wrapping_add(unsafe { pinned.frame().cast::<u64>().read() });
            // SAFETY: it was pinned here, and is not read any more.
            unsafe { cache.unpin(pinned, locks) };
        }
        done += BATCH;
    }
    black_box(sum);
    done as u64
}

fn millions_per_s(
    cache: &dyn PageCache,
    keys: &[Vec<PageId>],
    waiting: Waiting,
    time: Duration,
) -> f64 {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(keys.len() + 1));
    let (stop, start) = (&stop, &start);
    std::thread::scope(|scope| {
        let work = |keys| {
            move || {
                let mut locks = AnyLockContext::new(waiting);
                start.wait();
                look_up(cache, keys, &mut locks, stop)
            }
        };
        let threads: Vec<_> = keys.iter().map(|keys| scope.spawn(work(keys))).collect();
        start.wait();
        let begin = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let done: u64 = threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum();
        done as f64 / begin.elapsed().as_secs_f64() / 1e6
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|one| one.parse()).collect();
    let arguments = arguments?;
    let [rounds, milliseconds, cases @ ..] = &arguments[..] else {
        return Err("race_caches ROUNDS MILLISECONDS THREADS...".into());
    };
    let time = Duration::from_millis(*milliseconds as u64);
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Isb };
    let waiting = Waiting::new(LOCK, hint, 1 << 10, Clock::calibrated())?;
    let shape = Shape::resident(PAGES, 64, 64);
    let of_caches: usize =
        DataCacheKind::ALL.into_iter().map(|kind| kind::arena_bytes(kind, LOCK, shape)).sum();
    let arena = Arena::new(PAGES * PAGE_BYTES + 4096 + of_caches, PageMode::Small)?;
    let memory = arena.carve(PAGES * PAGE_BYTES, 4096).ok_or("the arena is too small")?;
    let mut contestants = Vec::new();
    for kind in DataCacheKind::ALL {
        let cache = filled(kind, shape, &arena, memory, &mut AnyLockContext::new(waiting))?;
        contestants.push((kind.name(), cache));
    }
    let mut output = std::io::stdout().lock();
    for &threads in cases {
        let zipf: Vec<_> = (0..threads).map(|thread| keys(thread as u64 + 1)).collect();
        let one_page = vec![vec![4711; KEYS]; threads];
        for round in 0..*rounds {
            for turn in 0..contestants.len() {
                let (name, cache) = &contestants[(turn + round) % contestants.len()];
                for (keys, name) in
                    [(&zipf, name.to_string()), (&one_page, format!("{name}, one page"))]
                {
                    let value = millions_per_s(&**cache, keys, waiting, time);
                    let line = serde_json::json!({
                        "case": threads.to_string(), "round": round, "name": name, "value": value,
                    });
                    writeln!(output, "{line}")?;
                }
            }
        }
    }
    Ok(())
}

/// A cache of a kind with every page in it.
fn filled(
    kind: DataCacheKind,
    shape: Shape,
    arena: &Arena,
    memory: NonNull<u8>,
    locks: &mut AnyLockContext,
) -> Result<Box<dyn PageCache>, Box<dyn Error>> {
    let cache = build(kind, LOCK, shape, arena)?;
    for page in 0..PAGES {
        // SAFETY: the memory has room for every page, stays, and each page is installed once.
        unsafe {
            let frame = memory.add(page * PAGE_BYTES);
            let pinned = cache.install(page as PageId, frame, locks);
            cache.unpin(pinned, locks);
        }
    }
    Ok(cache)
}
