//! Loom runs the shipped protocols through every order of threads and every outcome that weak
//! memory allows, and shows that it would have found the known mistakes.
//!
//! `cargo test -p assay-data-cache --release --features loom --test loom`
//!
//! Frames are loom cells: a reader that looks at one while it is rewritten is found out, however
//! the values come out.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use std::ptr::NonNull;

use assay_data_cache::hyper_clock::meta::Meta;
use assay_data_cache::hyper_clock::table::Table;
use assay_data_cache::optimistic;
use assay_data_cache::{Moves, PageId, Pinned};
use assay_primitives::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A frame: its content is the number of the page in it.
type Frame = UnsafeCell<PageId>;

fn write(frame: &Frame, page: PageId) {
    // SAFETY: loom checks that nobody else is here.
    frame.with_mut(|content| unsafe { *content = page });
}

fn read(frame: &Frame) -> PageId {
    // SAFETY: loom checks that nobody writes.
    frame.with(|content| unsafe { *content })
}

fn address(frame: &Frame) -> NonNull<u8> {
    NonNull::from(frame).cast()
}

/// # Safety
/// The pin is of a frame of the running model.
unsafe fn content(pinned: &Pinned) -> PageId {
    // SAFETY: the caller's promise.
    read(unsafe { pinned.frame().cast::<Frame>().as_ref() })
}

fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// The operations on a slot's word, in which protocols differ.
trait Word: Default + Send + Sync + 'static {
    fn acquire(&self) -> bool;
    fn undo(&self);
    fn release(&self);
    fn publish(&self);
    fn pass(&self) -> bool;
    fn take(&self) -> bool;
}

impl Word for Meta {
    fn acquire(&self) -> bool {
        self.acquire()
    }
    fn undo(&self) {
        self.undo();
    }
    fn release(&self) {
        self.release();
    }
    fn publish(&self) {
        self.publish();
    }
    fn pass(&self) -> bool {
        self.pass()
    }
    fn take(&self) -> bool {
        self.take()
    }
}

const VISIBLE: u64 = 1 << 63;
const RELEASE_ONE: u64 = 1 << 30;

const RELAXED_ACQUIRE: u8 = 1;
const RELAXED_RELEASE: u8 = 2;
const RELAXED_PUBLISH: u8 = 3;
/// Takes the slot over by a store, believing the pass before it.
const BLIND_TAKE: u8 = 4;

/// The word written out once more, with one mistake, or none (0).
struct Mistaken<const MISTAKE: u8>(AtomicU64);

impl<const MISTAKE: u8> Default for Mistaken<MISTAKE> {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

fn unless(is_mistake: bool, order: Ordering) -> Ordering {
    if is_mistake { Ordering::Relaxed } else { order }
}

impl<const MISTAKE: u8> Word for Mistaken<MISTAKE> {
    fn acquire(&self) -> bool {
        let order = unless(MISTAKE == RELAXED_ACQUIRE, Ordering::Acquire);
        self.0.fetch_add(1, order) & VISIBLE != 0
    }
    fn undo(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
    fn release(&self) {
        self.0.fetch_add(RELEASE_ONE, unless(MISTAKE == RELAXED_RELEASE, Ordering::Release));
    }
    fn publish(&self) {
        self.0.swap(VISIBLE | 1, unless(MISTAKE == RELAXED_PUBLISH, Ordering::Release));
    }
    fn pass(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let (acquires, releases) = (word & (RELEASE_ONE - 1), (word & !VISIBLE) >> 30);
        if word & VISIBLE == 0 || acquires != releases {
            return false;
        }
        if acquires > 0 {
            let lowered = VISIBLE | ((acquires - 1).min(2) * (1 + RELEASE_ONE));
            let relaxed = Ordering::Relaxed;
            let _ = self.0.compare_exchange(word, lowered, relaxed, relaxed);
        }
        acquires == 0
    }
    fn take(&self) -> bool {
        if MISTAKE == BLIND_TAKE {
            self.0.store(0, Ordering::Release);
            return true;
        }
        self.0.compare_exchange(VISIBLE | 1, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// A slot, and the frame of whatever page is in it.
struct Slot<W> {
    word: W,
    page: AtomicU32,
    frame: Frame,
}

/// One thread looks up page 1 and verifies; another takes the slot over, if it may, and puts page 2
/// into it and its frame.
fn a_pinned_slot_keeps_its_page<W: Word>() {
    loom::model(|| {
        let (word, frame) = (W::default(), UnsafeCell::new(1));
        word.publish();
        word.release();
        let slot = Arc::new(Slot { word, page: AtomicU32::new(1), frame });
        let evictor = {
            let slot = slot.clone();
            thread::spawn(move || {
                // One use by the install, two by the reader at most.
                let is_cold = (0..4).any(|_| slot.word.pass());
                if !is_cold || !slot.word.acquire() {
                    return;
                }
                if !slot.word.take() {
                    slot.word.undo();
                    return;
                }
                write(&slot.frame, 2);
                slot.page.store(2, Ordering::Relaxed);
                slot.word.publish();
                slot.word.release();
            })
        };
        for sought in [1, 2] {
            if slot.page.load(Ordering::Relaxed) == sought && slot.word.acquire() {
                if slot.page.load(Ordering::Relaxed) == sought {
                    assert_eq!(read(&slot.frame), sought, "another page's content");
                    slot.word.release();
                } else {
                    slot.word.undo();
                }
            }
        }
        evictor.join().unwrap();
    });
}

#[test]
fn a_slot_that_is_pinned_is_not_taken_over() {
    a_pinned_slot_keeps_its_page::<Meta>();
    a_pinned_slot_keeps_its_page::<Mistaken<0>>();
}

macro_rules! rejected {
    ($($name:ident $mistake:ident;)+) => {$(
        #[test]
        #[should_panic]
        fn $name() {
            a_pinned_slot_keeps_its_page::<Mistaken<$mistake>>();
        }
    )+};
}

rejected! {
    pinning_without_acquire_is_rejected RELAXED_ACQUIRE;
    releasing_without_release_is_rejected RELAXED_RELEASE;
    publishing_without_release_is_rejected RELAXED_PUBLISH;
    taking_over_without_looking_is_rejected BLIND_TAKE;
}

/// The pool's bytes: a page is moved by one thread at a time.
#[derive(Default)]
struct Bytes([AtomicU8; 4]);

// SAFETY: as the pool's own.
unsafe impl Moves for Bytes {
    fn begin(&self, page: PageId) -> bool {
        let state = &self.0[page as usize];
        state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
    fn end(&self, page: PageId) {
        self.0[page as usize].store(0, Ordering::Release);
    }
}

/// The shipped table with a small pool around it. `stored` says which pages the backing store has.
struct Pool {
    table: Table,
    bytes: Bytes,
    stored: [AtomicU8; 4],
    /// In a box: they are known by their addresses.
    frames: Box<[Frame; 2]>,
}

impl Pool {
    /// Page 0 in frame 0, page 1 in frame 1, both unpinned, as after one pass of the clock.
    fn new() -> Self {
        let pool = Self {
            table: Table::new(2),
            bytes: Bytes::default(),
            stored: [0, 0, 1, 1].map(AtomicU8::new),
            frames: Box::new([UnsafeCell::new(0), UnsafeCell::new(1)]),
        };
        for (page, frame) in (0..).zip(pool.frames.iter()) {
            let pinned = pool.table.add(page, address(frame));
            pool.table.release(pinned);
        }
        pool
    }

    /// As `Pool::pin` of the crate, giving up where that waits.
    fn pin(&self, page: PageId) -> Option<Pinned> {
        if let Some(pinned) = self.table.find(page) {
            return Some(pinned);
        }
        if !self.bytes.begin(page) {
            return None;
        }
        let pinned = self.table.find(page).or_else(|| self.read_in(page));
        self.bytes.end(page);
        pinned
    }

    fn read_in(&self, page: PageId) -> Option<Pinned> {
        let victim = self.table.evict(&self.bytes)?;
        // SAFETY: frames of this model live as long as it does.
        let frame = unsafe { victim.frame.cast::<Frame>().as_ref() };
        assert_eq!(read(frame), victim.page, "the victim's frame holds another page");
        self.stored[victim.page as usize].store(1, Ordering::Relaxed);
        self.bytes.end(victim.page);
        let is_stored = self.stored[page as usize].swap(0, Ordering::Relaxed);
        assert_eq!(is_stored, 1, "page {page} is read while it is in a frame");
        write(frame, page);
        Some(self.table.add(page, victim.frame))
    }

    fn use_page(&self, page: PageId) {
        if let Some(pinned) = self.pin(page) {
            // SAFETY: frames of this model live as long as it does.
            assert_eq!(unsafe { content(&pinned) }, page, "another page's content");
            self.table.release(pinned);
        }
    }
}

fn threads_use_pages(preemptions: usize, uses: [&'static [PageId]; 2]) {
    bounded(preemptions, move || {
        let pool = Arc::new(Pool::new());
        let threads = uses.map(|pages| {
            let pool = pool.clone();
            thread::spawn(move || pages.iter().for_each(|page| pool.use_page(*page)))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_look_up_and_an_eviction_never_share_a_frame() {
    threads_use_pages(2, [&[2], &[0, 1]]);
}

#[test]
fn two_that_evict_never_share_a_frame_nor_read_a_page_twice() {
    threads_use_pages(2, [&[2], &[2]]);
    threads_use_pages(1, [&[2], &[3]]);
}

/// A table whose readers write nothing.
trait Directory: Send + Sync + 'static {
    fn new() -> Self;
    fn add(&self, page: PageId, frame: &Frame);
    fn find(&self, page: PageId) -> Option<NonNull<u8>>;
}

impl Directory for optimistic::Table {
    fn new() -> Self {
        Self::new(2)
    }
    fn add(&self, page: PageId, frame: &Frame) {
        assert_eq!(self.add(page, address(frame)).page(), page);
    }
    fn find(&self, page: PageId) -> Option<NonNull<u8>> {
        self.find(page).map(|pinned| pinned.frame())
    }
}

/// One slot, published without release.
struct Careless(AtomicU64);

impl Directory for Careless {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }
    fn add(&self, _: PageId, frame: &Frame) {
        self.0.store(address(frame).as_ptr() as u64, Ordering::Relaxed);
    }
    fn find(&self, _: PageId) -> Option<NonNull<u8>> {
        NonNull::new(self.0.load(Ordering::Acquire) as *mut u8)
    }
}

fn an_installed_page_is_complete<D: Directory>(pages: &'static [PageId]) {
    loom::model(move || {
        let shared = Arc::new((D::new(), [UnsafeCell::new(99), UnsafeCell::new(99)]));
        let writers: Vec<_> = (0..pages.len())
            .map(|place| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (directory, frames) = &*shared;
                    write(&frames[place], pages[place]);
                    directory.add(pages[place], &frames[place]);
                })
            })
            .collect();
        for &page in pages {
            if let Some(frame) = shared.0.find(page) {
                // SAFETY: the frame belongs to this model.
                assert_eq!(read(unsafe { frame.cast::<Frame>().as_ref() }), page);
            }
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(pages.iter().all(|page| shared.0.find(*page).is_some()), "an install was lost");
    });
}

#[test]
fn an_optimistic_look_up_sees_pages_complete_or_not_at_all() {
    an_installed_page_is_complete::<optimistic::Table>(&[1]);
    // Both belong into the same slot of four.
    an_installed_page_is_complete::<optimistic::Table>(&[0, 5]);
}

#[test]
#[should_panic]
fn installing_without_release_is_rejected() {
    an_installed_page_is_complete::<Careless>(&[1]);
}
