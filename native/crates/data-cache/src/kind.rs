//! The registry: which data caches there are, the one place that names the types, and the facade
//! behind which a caller does not know them.

use core::marker::PhantomData;
use core::ptr::NonNull;

use assay_primitives::locks::ElidedLock;
use assay_primitives::{
    Address, AnyLockContext, Arena, Called, LockKind, RawLock, named, with_lock,
};

use crate::{
    CacheError, DataCache, HyperClock, LookUp, Moves, OneLock, Optimistic, PageId, Partitioned,
    Pinned, Shape, Victim,
};

named! {
    /// How pages are found in memory.
    pub enum DataCacheKind {
        /// One hash table and one LRU list under one lock.
        OneLock "one-lock",
        /// Several of them, by page number.
        Partitioned "partitioned",
        /// A table of slots that are pinned by atomic additions, with CLOCK eviction.
        HyperClock "hyper-clock",
        /// A table of atomic words, read without a shared write; never evicts.
        Optimistic "optimistic",
    }
}

impl DataCacheKind {
    /// Whether it can hold fewer frames than there are pages.
    pub fn evicts(self) -> bool {
        self != DataCacheKind::Optimistic
    }
}

/// The locks of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLock {
    /// Their kind.
    pub kind: LockKind,
    /// Whether they are elided by hardware transactions; the kind is then `ttas`.
    pub is_elided: bool,
}

impl From<LockKind> for CacheLock {
    fn from(kind: LockKind) -> Self {
        Self { kind, is_elided: false }
    }
}

/// A data cache of any kind, for callers that choose it at run time. The methods are those of
/// [`DataCache`]; each costs an indirect call more.
///
/// # Safety
/// As [`DataCache`].
pub unsafe trait PageCache: Send + Sync {
    /// Finds a page and pins it, through the function at [`PageCache::look_up_address`].
    fn pin(&self, page: PageId, locks: &mut AnyLockContext) -> Option<Pinned>;

    /// Gives a pinned page back.
    ///
    /// # Safety
    /// See [`DataCache::release`].
    unsafe fn unpin(&self, pinned: Pinned, locks: &mut AnyLockContext);

    /// See [`DataCache::install`].
    ///
    /// # Safety
    /// See there.
    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut AnyLockContext,
    ) -> Pinned;

    /// See [`DataCache::evict`].
    fn evict(
        &self,
        toward: PageId,
        moves: &dyn Moves,
        locks: &mut AnyLockContext,
    ) -> Option<Victim>;

    /// The run-time address of the look-up that `pin` calls, for the witness.
    fn look_up_address(&self) -> Address;

    /// The kind, for the manifest.
    fn kind(&self) -> DataCacheKind;

    /// The sizes it was built with.
    fn shape(&self) -> Shape;

    /// Partitions really made; 0 where there is no lock.
    fn partitions(&self) -> usize;
}

struct Facade<L, D> {
    cache: D,
    look_up: Called<LookUp<L, D>>,
    kind: DataCacheKind,
    shape: Shape,
    lock: PhantomData<fn() -> L>,
}

// SAFETY: what the cache behind it does.
unsafe impl<L: RawLock, D: DataCache<L>> PageCache for Facade<L, D> {
    fn pin(&self, page: PageId, locks: &mut AnyLockContext) -> Option<Pinned> {
        (self.look_up.function())(&self.cache, page, locks.of())
    }

    unsafe fn unpin(&self, pinned: Pinned, locks: &mut AnyLockContext) {
        // SAFETY: the caller's promise.
        unsafe { self.cache.release(pinned, locks.of()) }
    }

    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut AnyLockContext,
    ) -> Pinned {
        // SAFETY: the caller's promise.
        unsafe { self.cache.install(page, frame, locks.of()) }
    }

    fn evict(
        &self,
        toward: PageId,
        moves: &dyn Moves,
        locks: &mut AnyLockContext,
    ) -> Option<Victim> {
        self.cache.evict(toward, moves, locks.of())
    }

    fn look_up_address(&self) -> Address {
        self.look_up.address()
    }

    fn kind(&self) -> DataCacheKind {
        self.kind
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn partitions(&self) -> usize {
        self.cache.partitions()
    }
}

/// What `build` gives.
type Built = Result<Box<dyn PageCache>, CacheError>;

/// What one combination of kind and lock needs of an arena and how it is built.
struct Maker {
    bytes: fn(Shape) -> usize,
    make: fn(DataCacheKind, Shape, &Arena) -> Built,
}

/// An empty data cache. Locks, where the kind has them, are `lock`s in the arena.
pub fn build(
    kind: DataCacheKind,
    lock: impl Into<CacheLock>,
    shape: Shape,
    arena: &Arena,
) -> Result<Box<dyn PageCache>, CacheError> {
    (maker(kind, lock.into()).make)(kind, shape, arena)
}

/// The memory that `build` takes from its arena.
pub fn arena_bytes(kind: DataCacheKind, lock: impl Into<CacheLock>, shape: Shape) -> usize {
    (maker(kind, lock.into()).bytes)(shape)
}

fn maker(kind: DataCacheKind, lock: CacheLock) -> Maker {
    if lock.is_elided {
        return maker_with::<ElidedLock>(kind);
    }
    with_lock!(lock.kind, L => maker_with::<L>(kind))
}

fn maker_with<L: RawLock>(kind: DataCacheKind) -> Maker {
    match kind {
        DataCacheKind::OneLock => of::<L, OneLock<L>>(),
        DataCacheKind::Partitioned => of::<L, Partitioned<L>>(),
        DataCacheKind::HyperClock => of::<L, HyperClock<L>>(),
        DataCacheKind::Optimistic => of::<L, Optimistic<L>>(),
    }
}

fn of<L: RawLock, D: DataCache<L> + 'static>() -> Maker {
    Maker {
        bytes: D::arena_bytes,
        make: |kind, shape, arena| {
            let cache = D::new(arena, shape)?;
            // Opaque to the optimiser: `pin` must call this pointer, not a copy that it inlined.
            let look_up = Called::new(D::look_up_function());
            Ok(Box::new(Facade { cache, look_up, kind, shape, lock: PhantomData }))
        },
    }
}
