//! A hash table and a least-recently-used list with pins, for one thread at a time: what the
//! locked caches guard.
//!
//! Every look-up moves its page to the front and counts a pin, as a pool that evicts must: about
//! seven writes to shared memory per read, which is the cost under study. Pinned pages stay in the
//! list, and eviction walks from the oldest past them.

use core::ptr::NonNull;

use crate::{Moves, PageId, Pinned, Victim, spread};

/// Frames by page number, newest use first.
pub struct Lru {
    buckets: Vec<u32>,
    frames: Vec<Frame>,
    newest: u32,
    oldest: u32,
    /// Entries of evicted pages, linked by `chain`.
    unused: u32,
}

struct Frame {
    page: PageId,
    chain: u32,
    newer: u32,
    older: u32,
    pins: u32,
    memory: NonNull<u8>,
}

const NONE: u32 = u32::MAX;

impl Lru {
    /// Room for about `pages` pages without long chains.
    pub fn new(pages: usize) -> Self {
        let buckets = vec![NONE; (2 * pages).next_power_of_two().max(2)];
        let frames = Vec::with_capacity(pages);
        Self { buckets, frames, newest: NONE, oldest: NONE, unused: NONE }
    }

    #[inline(always)]
    fn bucket(&self, page: PageId) -> usize {
        (spread(page) >> (32 - self.buckets.len().trailing_zeros())) as usize
    }

    /// Finds a page, makes it the newest and pins it.
    #[inline(always)]
    pub fn touch(&mut self, page: PageId) -> Option<Pinned> {
        let mut at = self.buckets[self.bucket(page)];
        while at != NONE {
            let frame = &mut self.frames[at as usize];
            if frame.page == page {
                frame.pins += 1;
                // SAFETY: the pin is counted.
                let pinned = unsafe { Pinned::new(frame.memory, page, at) };
                self.make_newest(at);
                return Some(pinned);
            }
            at = frame.chain;
        }
        None
    }

    /// Takes a pin back. The order of use stays.
    #[inline(always)]
    pub fn release(&mut self, pinned: Pinned) {
        let frame = &mut self.frames[pinned.place() as usize];
        debug_assert!(
            frame.page == pinned.page() && frame.pins > 0,
            "released where it was pinned"
        );
        frame.pins -= 1;
    }

    /// Adds a page as the newest, pinned.
    pub fn add(&mut self, page: PageId, memory: NonNull<u8>) -> Pinned {
        let bucket = self.bucket(page);
        let chain = self.buckets[bucket];
        let frame = Frame { page, chain, newer: NONE, older: NONE, pins: 1, memory };
        let at = match self.unused {
            NONE => {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            }
            at => {
                self.unused = self.frames[at as usize].chain;
                self.frames[at as usize] = frame;
                at
            }
        };
        self.buckets[bucket] = at;
        self.link_newest(at);
        // SAFETY: as above; the first pin is in `frame`.
        unsafe { Pinned::new(memory, page, at) }
    }

    /// Takes the least recently used page out that is not pinned and does not move.
    pub fn evict(&mut self, moves: &dyn Moves) -> Option<Victim> {
        let mut at = self.oldest;
        while at != NONE {
            let Frame { page, newer, pins, memory, .. } = self.frames[at as usize];
            if pins == 0 && moves.begin(page) {
                self.take_out(at);
                return Some(Victim { page, frame: memory });
            }
            at = newer;
        }
        None
    }

    fn take_out(&mut self, at: u32) {
        self.unlink(at);
        let Frame { page, chain, .. } = self.frames[at as usize];
        let bucket = self.bucket(page);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = chain;
        } else {
            let mut before = self.buckets[bucket] as usize;
            while self.frames[before].chain != at {
                before = self.frames[before].chain as usize;
            }
            self.frames[before].chain = chain;
        }
        self.frames[at as usize].chain = self.unused;
        self.unused = at;
    }

    #[inline(always)]
    fn make_newest(&mut self, at: u32) {
        if self.newest != at {
            self.unlink(at);
            self.link_newest(at);
        }
    }

    #[inline(always)]
    fn unlink(&mut self, at: u32) {
        let Frame { newer, older, .. } = self.frames[at as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.frames[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.frames[older as usize].newer = newer,
        }
    }

    #[inline(always)]
    fn link_newest(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        let frame = &mut self.frames[at as usize];
        frame.newer = NONE;
        frame.older = before;
        match before {
            NONE => self.oldest = at,
            before => self.frames[before as usize].newer = at,
        }
    }
}
