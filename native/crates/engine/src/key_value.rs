//! The store itself: one arena, one index, one data cache, and pages handed out in order.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use assay_data_cache::{
    Backing, DataCache, FileBacking, Pinned, Pool, PoolCaller, PoolShape, Shape,
};
use assay_primitives::locks::Waiting;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Arena, Clock, LockContext, RawLock};
use assay_workload::hash::fnv1a_64;
use assay_workload::{KeySpace, OperationKind, Values, values};

use crate::index::{Entry, Index};
use crate::page::{Layout, Page, PageId};
use crate::session::KeyValueSession;
use crate::{Configuration, Engine, EngineError, Selected, Session, State, Visitor};

/// A key-value store of lock kind `L`, index `I` and data cache `D`.
pub(crate) struct KeyValue<L, I, D> {
    pub(crate) index: I,
    pub(crate) pool: Pool<L, D>,
    pub(crate) waiting: Waiting,
    /// By kind of operation its place among those of the mix.
    pub(crate) places: [usize; OperationKind::ALL.len()],
    pub(crate) layout: Layout,
    pub(crate) clock: Clock,
    keys: Arc<KeySpace>,
    values: Arc<Values>,
    records: u64,
    capacity: u64,
    page_count: usize,
    pages_used: AtomicU32,
    /// Last, so that everything that points into it is dropped before.
    arena: Arena,
}

/// Pages that a session uses at once: the one it inserts into, and one that it reads, writes or
/// fetches.
const PAGES_PER_SESSION: usize = 2;

impl<L: RawLock, I: Index<L>, D: DataCache<L>> KeyValue<L, I, D> {
    /// Builds an empty store whose arena has room for the whole key space.
    pub(crate) fn new(configuration: &Configuration<'_>) -> Result<Self, EngineError> {
        let Configuration { parts, plan, sessions, clock } = configuration;
        let shape = plan.parameters();
        let layout = Layout::new(shape.fields, shape.field_bytes);
        let capacity = shape.capacity();
        // Each session keeps one page open, which may stay nearly empty.
        let page_count = (capacity as usize).div_ceil(layout.rows_per_page) + sessions;
        let frames = frames(configuration, &layout, page_count)?;
        let cache = Shape {
            pages: page_count,
            frames,
            partitions: parts.cache_partitions,
            padding: parts.padding,
        };
        let pool = PoolShape { cache, page_bytes: layout.page_bytes };
        let bytes =
            I::arena_bytes(capacity as usize, parts.padding) + Pool::<L, D>::arena_bytes(pool);
        let waiting = parts.waiting(*clock)?;
        let arena = Arena::new(bytes, parts.pages)?;
        let backing = (frames < page_count).then(|| backing(page_count, &layout)).transpose()?;
        Ok(Self {
            index: I::new(&arena, capacity as usize, parts.padding)?,
            pool: Pool::new(&arena, pool, backing)?,
            waiting,
            places: plan.places(),
            layout,
            clock: *clock,
            keys: Arc::clone(plan.keys()),
            values: Arc::clone(plan.values()),
            records: shape.records,
            capacity,
            page_count,
            pages_used: AtomicU32::new(0),
            arena,
        })
    }

    /// The error of an insert that found the key space used up.
    pub(crate) fn full(&self) -> EngineError {
        EngineError::Full { capacity: self.capacity }
    }

    /// A fresh page, known to the data cache and pinned.
    pub(crate) fn new_page(
        &self,
        caller: &mut PoolCaller<L>,
    ) -> Result<(PageId, Pinned), EngineError> {
        let id = self.pages_used.fetch_add(1, Ordering::Relaxed);
        if id as usize >= self.page_count {
            return Err(self.full());
        }
        let pinned = self.pool.create(id, caller)?;
        // SAFETY: the frame is a whole page, which stays in it as long as it is pinned; its number was
        // given to nobody else.
        unsafe { Page::new(pinned.frame()).format(id) };
        Ok((id, pinned))
    }

    fn load_part(
        &self,
        numbers: std::ops::Range<u64>,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        let mut session = KeyValueSession::new(self);
        for number in numbers {
            if number.is_multiple_of(1024) && stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            session.insert_record(fnv1a_64(number), &self.values)?;
        }
        Ok(())
    }

    /// Copies the row of an index entry; false if there is none, or another key's, or its page
    /// cannot be read.
    fn copy_row(&self, entry: Entry, caller: &mut PoolCaller<L>, copy: &mut [u8]) -> bool {
        let Ok(pinned) = self.pool.pin(entry.row.page(), caller) else { return false };
        // SAFETY: the data cache holds whole pages only, rows in the index were opened, no session
        // runs, and the buffer has the size of a row.
        unsafe {
            Page::new(pinned.frame()).row::<L>(entry.row.slot()).copy_to(copy);
            self.pool.unpin(pinned, caller);
        }
        self.layout.key_of(copy) == entry.key
    }
}

/// The pages that the data cache has room for.
fn frames(
    configuration: &Configuration<'_>,
    layout: &Layout,
    page_count: usize,
) -> Result<usize, EngineError> {
    let Configuration { parts, plan, sessions, .. } = configuration;
    let share = parts.cache_share;
    if share == 100 {
        return Ok(page_count);
    }
    let of = (plan.parameters().records as usize).div_ceil(layout.rows_per_page);
    let (pages, least) = ((of * share).div_ceil(100), PAGES_PER_SESSION * sessions);
    if pages < least {
        let sessions = *sessions;
        return Err(EngineError::CacheTooSmall { share, pages, of, least, sessions });
    }
    Ok(pages)
}

fn backing(page_count: usize, layout: &Layout) -> Result<Box<dyn Backing>, EngineError> {
    let folder = std::env::temp_dir();
    Ok(Box::new(FileBacking::create(&folder, page_count, layout.page_bytes)?))
}

/// Index entries read at a time by `visit`.
const VISITED_AT_A_TIME: usize = 4096;

impl<L: RawLock, I: Index<L>, D: DataCache<L>> Engine for KeyValue<L, I, D> {
    fn load(&self, threads: usize, stop: &AtomicBool) -> Result<(), EngineError> {
        let threads = threads.max(1) as u64;
        let part =
            |thread: u64| self.records * thread / threads..self.records * (thread + 1) / threads;
        std::thread::scope(|scope| {
            let loaders: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || self.load_part(part(thread), stop)))
                .collect();
            loaders.into_iter().try_for_each(|loader| match loader.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(KeyValueSession::new(self))
    }

    fn selected(&self) -> Selected {
        Selected {
            lock_stride_bytes: self.index.lock_stride_bytes(),
            cache_partitions: self.pool.partitions(),
            cache_pages: self.pool.frames(),
            data_cache_lookup: self.pool.look_up_address(),
            lock_slow: self.waiting.address(),
        }
    }

    fn visit(&self, see: Visitor<'_>) {
        let mut waiter = LockContext::new(self.waiting);
        let mut caller = PoolCaller::new(LockContext::new(self.waiting));
        let mut copy = vec![0; self.layout.copied_bytes()];
        let mut entries = Vec::with_capacity(VISITED_AT_A_TIME);
        let mut next = Some(0);
        while let Some(from) = next {
            entries.clear();
            self.index.scan(from, VISITED_AT_A_TIME, &mut waiter, &mut entries);
            for entry in &entries {
                let is_found = self.copy_row(*entry, &mut caller, &mut copy);
                let fields: Option<Vec<&[u8]>> = self.layout.fields_of(&copy).collect();
                see(entry.key, fields.filter(|_| is_found).as_deref());
            }
            next = entries.last().and_then(|entry| entry.key.checked_add(1));
        }
    }

    fn state(&self) -> State {
        let (mut records, mut is_sound, mut lowest) = (0, true, 0);
        self.visit(&mut |key, fields| {
            let is_in_order = records == 0 || key > lowest;
            let are_whole =
                fields.is_some_and(|fields| fields.iter().all(|field| values::is_whole(field)));
            is_sound &= is_in_order && are_whole;
            lowest = key;
            records += 1;
        });
        State { records, is_sound: is_sound && records == self.keys.readable() }
    }

    fn memory(&self) -> Result<Mapped, EngineError> {
        Ok(self.arena.obtained()?)
    }
}
