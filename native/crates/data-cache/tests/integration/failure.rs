//! What is refused, what fails, and that nothing is lost by it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_data_cache::{
    Backing, CacheError, DataCache, DataCacheKind, FileBacking, HyperClock, LookUp, Moves, OneLock,
    PageId, Pinned, Pool, PoolShape, Shape, Victim, build,
};
use assay_primitives::locks::WordLock;
use assay_primitives::{Arena, LockContext, LockKind, PageMode};

use crate::support::{MapBacking, PAGE_BYTES, caller, fill, give_back, read};

fn arena() -> Arena {
    Arena::new(1 << 20, PageMode::Small).unwrap()
}

fn shape(pages: usize, frames: usize) -> PoolShape {
    let cache = Shape { pages, frames, partitions: 4, padding: 64 };
    PoolShape { cache, page_bytes: PAGE_BYTES }
}

#[test]
fn optimistic_with_fewer_frames_than_pages_names_the_kinds_that_can() {
    let arena = arena();
    let shape = Shape { frames: 9, ..Shape::resident(10, 1, 64) };
    for kind in DataCacheKind::ALL {
        let built = build(kind, LockKind::Ttas, shape, &arena);
        assert_eq!(built.is_ok(), kind.evicts(), "{}", kind.name());
        let Err(error) = built else { continue };
        let text = format!("{error}; {}", error.next());
        for able in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
            assert!(text.contains(able.name()), "{text}");
        }
        assert!(text.contains("9 frames for 10 pages"), "{text}");
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let arena = arena();
    for kind in DataCacheKind::ALL {
        let none = Shape { frames: 0, ..Shape::resident(10, 1, 64) };
        assert!(build(kind, LockKind::Ttas, none, &arena).is_err());
    }
    let odd = Shape::resident(10, 3, 64);
    let refused = build(DataCacheKind::Partitioned, LockKind::Ttas, odd, &arena).err().unwrap();
    assert!(refused.to_string().contains("3 partitions"), "{refused}");
    let pool = Pool::<WordLock, HyperClock<_>>::new(&arena, shape(10, 9), None);
    assert!(pool.err().unwrap().to_string().contains("no backing store"));
}

#[test]
fn look_ups_of_the_kinds_are_functions_of_their_own() {
    let arena = arena();
    let address = |kind| {
        let cache = build(kind, LockKind::Ttas, Shape::resident(10, 4, 64), &arena).unwrap();
        assert_eq!((cache.kind(), cache.shape().pages), (kind, 10));
        cache.look_up_address()
    };
    let mut addresses = DataCacheKind::ALL.map(address);
    addresses.sort_unstable();
    assert!(addresses.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn pages_that_were_never_created_or_are_created_twice_are_errors() {
    let arena = arena();
    let backing = Some(Box::new(MapBacking::default()) as Box<dyn Backing>);
    let pool = Pool::<WordLock, OneLock<_>>::new(&arena, shape(10, 5), backing).unwrap();
    let caller = &mut caller::<WordLock>(LockKind::Ttas);
    for page in [0, 9, 10, PageId::MAX] {
        assert!(
            matches!(pool.pin(page, caller), Err(CacheError::Unknown { page: it }) if it == page)
        );
    }
    let pinned = pool.create(3, caller).unwrap();
    give_back(&pool, pinned, caller);
    assert!(matches!(pool.create(3, caller), Err(CacheError::Exists { page: 3 })));
    assert!(matches!(pool.create(10, caller), Err(CacheError::Unknown { page: 10 })));
}

#[test]
fn a_created_page_is_zero_whatever_was_in_its_frame() {
    let arena = arena();
    let backing = Some(Box::new(MapBacking::default()) as Box<dyn Backing>);
    let pool = Pool::<WordLock, HyperClock<_>>::new(&arena, shape(10, 2), backing).unwrap();
    let caller = &mut caller::<WordLock>(LockKind::Ttas);
    for page in 0..10 {
        let pinned = pool.create(page, caller).unwrap();
        // SAFETY: the page is pinned, and this is the only thread.
        unsafe {
            let bytes = std::slice::from_raw_parts(pinned.frame().as_ptr(), PAGE_BYTES);
            assert!(bytes.iter().all(|byte| *byte == 0));
            fill(pinned.frame(), page, 1);
        }
        give_back(&pool, pinned, caller);
    }
}

/// Device files that cannot be written: nothing that is in a frame is lost by it.
#[test]
fn a_full_disk_is_an_error_and_the_victim_stays() {
    let Ok(full) = File::options().read(true).write(true).open("/dev/full") else { return };
    let arena = arena();
    let backing = FileBacking::over(full, Path::new("/dev"), 10, PAGE_BYTES).unwrap();
    let backing: Option<Box<dyn Backing>> = Some(Box::new(backing));
    let pool = Pool::<WordLock, HyperClock<_>>::new(&arena, shape(10, 3), backing).unwrap();
    let caller = &mut caller::<WordLock>(LockKind::Ttas);
    for page in 0..3 {
        let pinned = pool.create(page, caller).unwrap();
        // SAFETY: the page is pinned, and this is the only thread.
        unsafe { fill(pinned.frame(), page, 40 + u64::from(page)) };
        give_back(&pool, pinned, caller);
    }
    for _ in 0..10 {
        let error = pool.create(3, caller).unwrap_err();
        let (message, next) = (error.to_string(), error.next());
        assert!(message.contains("/dev") && message.contains("writing page"), "{message}");
        assert!(next.contains("free space"), "{next}");
        for page in 0..3 {
            let pinned = pool.pin(page, caller).unwrap();
            // SAFETY: as above.
            assert_eq!(unsafe { read(pinned.frame(), page) }, 40 + u64::from(page));
            give_back(&pool, pinned, caller);
        }
    }
}

/// Fails to read while it is told to.
#[derive(Default)]
struct Failing {
    pages: MapBacking,
    fails: Arc<AtomicBool>,
}

impl Backing for Failing {
    fn read(&self, page: PageId, bytes: &mut [u8]) -> Result<(), CacheError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(CacheError::Unknown { page });
        }
        self.pages.read(page, bytes)
    }

    fn write(&self, page: PageId, bytes: &[u8]) -> Result<(), CacheError> {
        self.pages.write(page, bytes)
    }
}

#[test]
fn frames_of_pages_that_could_not_be_read_are_used_again() {
    let failing = Failing::default();
    let fails = Arc::clone(&failing.fails);
    let arena = arena();
    let pool = Pool::<WordLock, OneLock<_>>::new(&arena, shape(10, 3), Some(Box::new(failing)));
    let (pool, caller) = (pool.unwrap(), &mut caller::<WordLock>(LockKind::Ttas));
    for page in 0..10 {
        let pinned = pool.create(page, caller).unwrap();
        // SAFETY: the page is pinned, and this is the only thread.
        unsafe { fill(pinned.frame(), page, 0) };
        give_back(&pool, pinned, caller);
    }
    fails.store(true, Ordering::Relaxed);
    for page in 0..7 {
        assert!(pool.pin(page, caller).is_err());
    }
    fails.store(false, Ordering::Relaxed);
    let pins: Vec<_> = (0..3).map(|page| pool.pin(page, caller).unwrap()).collect();
    for (page, pinned) in (0..).zip(pins) {
        // SAFETY: as above.
        assert_eq!(unsafe { read(pinned.frame(), page) }, 0);
        give_back(&pool, pinned, caller);
    }
}

/// A cache whose first look-up of an installed page misses, as when another thread reads the page
/// in between a look-up and what follows from it.
struct Hasty {
    pages: OneLock<WordLock>,
    has_missed: AtomicBool,
}

impl Hasty {
    fn look_up(&self, page: PageId, locks: &mut LockContext<WordLock>) -> Option<Pinned> {
        if !self.has_missed.swap(true, Ordering::Relaxed) {
            return None;
        }
        OneLock::locked_look_up(&self.pages, page, locks)
    }
}

// SAFETY: all is done by another cache; a look-up that misses gives nothing.
unsafe impl DataCache<WordLock> for Hasty {
    fn arena_bytes(shape: Shape) -> usize {
        OneLock::<WordLock>::arena_bytes(shape)
    }
    fn new(arena: &Arena, shape: Shape) -> Result<Self, CacheError> {
        Ok(Self { pages: OneLock::new(arena, shape)?, has_missed: AtomicBool::new(false) })
    }
    fn look_up_function() -> LookUp<WordLock, Self> {
        Self::look_up
    }
    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut LockContext<WordLock>,
    ) -> Pinned {
        // SAFETY: the caller's promise.
        unsafe { self.pages.install(page, frame, locks) }
    }
    unsafe fn release(&self, pinned: Pinned, locks: &mut LockContext<WordLock>) {
        // SAFETY: as above.
        unsafe { self.pages.release(pinned, locks) }
    }
    fn evict(
        &self,
        page: PageId,
        moves: &dyn Moves,
        locks: &mut LockContext<WordLock>,
    ) -> Option<Victim> {
        self.pages.evict(page, moves, locks)
    }
    fn partitions(&self) -> usize {
        1
    }
}

#[test]
fn a_page_that_came_in_meanwhile_is_not_read_into_a_second_frame() {
    let arena = arena();
    let backing = Some(Box::new(MapBacking::default()) as Box<dyn Backing>);
    let pool = Pool::<WordLock, Hasty>::new(&arena, shape(10, 3), backing).unwrap();
    let caller = &mut caller::<WordLock>(LockKind::Ttas);
    let created = pool.create(4, caller).unwrap();
    let found = pool.pin(4, caller).unwrap();
    assert_eq!(found.frame(), created.frame());
    assert_eq!(caller.counts().misses, 1);
    give_back(&pool, created, caller);
    give_back(&pool, found, caller);
}

#[test]
fn a_file_leaves_no_name_and_closes_at_exec() {
    let folder = std::env::temp_dir().join(format!("assay-cache-test-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let file = FileBacking::create(&folder, 4, PAGE_BYTES).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    file.write(2, &[7; PAGE_BYTES]).unwrap();
    let mut bytes = [0; PAGE_BYTES];
    file.read(2, &mut bytes).unwrap();
    assert_eq!(bytes, [7; PAGE_BYTES]);
    let name = folder.to_str().unwrap().to_owned();
    let mine = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let target = fs::read_link(&path).ok()?.into_os_string().into_string().ok()?;
        target.starts_with(&name).then(|| path.file_name().unwrap().to_owned())
    });
    let descriptors: Vec<_> = mine.collect();
    assert_eq!(descriptors.len(), 1);
    let info = Path::new("/proc/self/fdinfo").join(&descriptors[0]);
    let info = fs::read_to_string(info).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    let flags = u64::from_str_radix(flags.trim(), 8).unwrap();
    assert_ne!(flags & 0o2_000_000, 0, "O_CLOEXEC");
    drop(file);
    fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_folder_that_is_not_there_and_a_file_too_large_say_what_to_do() {
    let error = FileBacking::create(Path::new("/nonexistent"), 4, PAGE_BYTES).unwrap_err();
    assert!(error.to_string().contains("/nonexistent: creating it"), "{error}");
    assert!(error.next().contains("permissions"), "{}", error.next());
    let error = FileBacking::create(&std::env::temp_dir(), 1 << 45, 1 << 14).unwrap_err();
    assert!(error.to_string().contains("reserving"), "{error}");
    assert!(error.next().contains("free space"), "{error}: {}", error.next());
}

/// Every bit of a page in turn, and then whole pages of noise: nothing changed is ever taken for the page.
#[test]
fn a_page_that_comes_back_changed_is_an_error_that_names_it() {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("assay-changed-{}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let backing = FileBacking::over(file.try_clone().unwrap(), &folder, 3, PAGE_BYTES).unwrap();
    let mut page = vec![0; PAGE_BYTES];
    assert!(backing.read(1, &mut page).is_err(), "never written");
    let original: Vec<u8> = (0..PAGE_BYTES).map(|place| (place * 31) as u8).collect();
    backing.write(1, &original).unwrap();
    let offset = PAGE_BYTES as u64;
    let mut must_fail = |bytes: &[u8]| {
        file.write_all_at(bytes, offset).unwrap();
        let error = backing.read(1, &mut page).unwrap_err();
        assert!(matches!(error, CacheError::Changed { page: 1, .. }), "{error}");
        assert!(error.to_string().contains("page 1") && error.next().contains("device"));
    };
    for bit in 0..PAGE_BYTES * 8 {
        let mut changed = original.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        must_fail(&changed);
    }
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..200 {
        let mut noise = original.clone();
        for byte in &mut noise {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        must_fail(&noise);
    }
    file.write_all_at(&original, offset).unwrap();
    backing.read(1, &mut page).unwrap();
    assert_eq!(page, original);
    assert!(matches!(backing.write(3, &original), Err(CacheError::Unknown { page: 3 })));
}
