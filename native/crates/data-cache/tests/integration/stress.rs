//! Threads on a pool with fewer frames than pages: no page under another's number, none torn, no
//! change lost, none evicted while pinned.

use std::sync::Mutex;
use std::thread;

use assay_data_cache::{
    Backing, CacheError, DataCache, FileBacking, HyperClock, OneLock, PageId, Partitioned, Pool,
    PoolCaller, PoolCounts, PoolShape, Shape,
};
use assay_primitives::locks::{FutexLock, WordLock};
use assay_primitives::{Arena, LockKind, PageMode, RawLock};

use crate::support::{MapBacking, PAGE_BYTES, caller, fill, give_back, next, read};

const PAGES: usize = 200;
const THREADS: usize = 4;
const OPERATIONS: usize = 30_000;

fn shape(frames: usize) -> PoolShape {
    let cache = Shape { pages: PAGES, frames, partitions: 8, padding: 64 };
    PoolShape { cache, page_bytes: PAGE_BYTES }
}

/// The pages' own locks, outside of the pool, which knows nothing of contents.
type Guards = Vec<Mutex<()>>;

fn work<L: RawLock, D: DataCache<L>>(
    pool: &Pool<L, D>,
    guards: &Guards,
    lock: LockKind,
    seed: u64,
) -> (u64, PoolCounts) {
    let caller = &mut caller::<L>(lock);
    let (mut random, mut changes) = (seed, 0);
    for _ in 0..OPERATIONS {
        // Half of the look-ups go to a tenth of the pages.
        let range = if next(&mut random).is_multiple_of(2) { PAGES / 10 } else { PAGES };
        let page = (next(&mut random) % range as u64) as PageId;
        let pinned = pool.pin(page, caller).unwrap();
        assert_eq!(pinned.page(), page);
        let guard = guards[page as usize].lock().unwrap();
        // SAFETY: the page is pinned and its guard is held.
        let count = unsafe { read(pinned.frame(), page) };
        if next(&mut random).is_multiple_of(4) {
            // SAFETY: as above.
            unsafe { fill(pinned.frame(), page, count + 1) };
            pool.mark_changed(&pinned);
            changes += 1;
        }
        drop(guard);
        if next(&mut random).is_multiple_of(64) {
            thread::yield_now();
            let _guard = guards[page as usize].lock().unwrap();
            // SAFETY: still pinned, and the guard is held again.
            assert!(unsafe { read(pinned.frame(), page) } >= count);
        }
        give_back(pool, pinned, caller);
    }
    (changes, caller.counts())
}

fn created<L: RawLock, D: DataCache<L>>(pool: &Pool<L, D>, caller: &mut PoolCaller<L>) {
    for page in 0..PAGES as PageId {
        let pinned = pool.create(page, caller).unwrap();
        // SAFETY: the page is pinned, and this is the only thread.
        unsafe { fill(pinned.frame(), page, 0) };
        give_back(pool, pinned, caller);
    }
}

fn stressed<L: RawLock, D: DataCache<L>>(
    lock: LockKind,
    frames: usize,
    backing: Option<Box<dyn Backing>>,
) {
    let arena = Arena::new(Pool::<L, D>::arena_bytes(shape(frames)), PageMode::Small).unwrap();
    let pool = Pool::<L, D>::new(&arena, shape(frames), backing).unwrap();
    let caller = &mut caller::<L>(lock);
    created(&pool, caller);
    let guards: Guards = (0..PAGES).map(|_| Mutex::new(())).collect();
    let results: Vec<(u64, PoolCounts)> = thread::scope(|scope| {
        let (pool, guards) = (&pool, &guards);
        let start = |seed: usize| scope.spawn(move || work(pool, guards, lock, seed as u64 + 1));
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let changes: u64 = results.iter().map(|(changes, _)| changes).sum();
    let found: u64 = (0..PAGES as PageId)
        .map(|page| {
            let pinned = pool.pin(page, caller).unwrap();
            // SAFETY: the page is pinned, and this is the only thread left.
            let count = unsafe { read(pinned.frame(), page) };
            give_back(&pool, pinned, caller);
            count
        })
        .sum();
    assert_eq!(found, changes, "a change was lost");
    for (_, counts) in results {
        assert_eq!(counts.hits + counts.misses, OPERATIONS as u64);
        assert_eq!(counts.misses > 0, frames < PAGES);
        assert_eq!(counts.evictions > 0, frames < PAGES);
        assert!(counts.write_backs <= counts.evictions);
    }
}

fn in_memory() -> Option<Box<dyn Backing>> {
    Some(Box::new(MapBacking::default()))
}

#[test]
fn pages_stay_whole_while_a_locked_cache_evicts_them() {
    for frames in [8, 100] {
        stressed::<WordLock, OneLock<_>>(LockKind::Ttas, frames, in_memory());
        stressed::<WordLock, Partitioned<_>>(LockKind::Ttas, frames, in_memory());
        stressed::<FutexLock, Partitioned<_>>(LockKind::Futex, frames, in_memory());
    }
}

#[test]
fn pages_stay_whole_while_the_hyper_clock_evicts_them() {
    for frames in [8, 20, 100, 199] {
        stressed::<WordLock, HyperClock<_>>(LockKind::Ttas, frames, in_memory());
    }
}

#[test]
fn a_pool_with_a_frame_for_every_page_needs_no_backing_store() {
    stressed::<WordLock, OneLock<_>>(LockKind::Ttas, PAGES, None);
    stressed::<WordLock, HyperClock<_>>(LockKind::Ttas, PAGES, None);
    stressed::<WordLock, assay_data_cache::Optimistic<_>>(LockKind::Ttas, PAGES, None);
}

#[test]
fn pages_stay_whole_in_a_file() {
    let folder = std::env::temp_dir();
    let file = FileBacking::create(&folder, PAGES, PAGE_BYTES).unwrap();
    stressed::<WordLock, HyperClock<_>>(LockKind::Ttas, 20, Some(Box::new(file)));
}

/// The threads together pin every frame there is, so some must be told; those that are not hold
/// whole pages.
#[test]
fn a_pool_whose_frames_are_all_pinned_says_so() {
    let arena = Arena::new(1 << 20, PageMode::Small).unwrap();
    let pool = Pool::<WordLock, HyperClock<_>>::new(&arena, shape(5), in_memory()).unwrap();
    let caller = &mut caller::<WordLock>(LockKind::Ttas);
    created(&pool, caller);
    let pins: Vec<_> = (0..5).map(|page| pool.pin(page, caller).unwrap()).collect();
    let refused = pool.pin(7, caller);
    assert!(matches!(refused, Err(CacheError::AllPinned { frames: 5, page: 7 })), "{refused:?}");
    let message = refused.unwrap_err();
    assert!(message.next().contains("more pages"), "{message}: {}", message.next());
    for (page, pinned) in (0..).zip(&pins) {
        // SAFETY: the page is pinned, and this is the only thread.
        assert_eq!(unsafe { read(pinned.frame(), page) }, 0);
    }
    for pinned in pins {
        give_back(&pool, pinned, caller);
    }
    let pinned = pool.pin(7, caller).unwrap();
    give_back(&pool, pinned, caller);
}
