//! A hash table and a least-recently-used list, for one thread at a time: what the locked caches
//! guard.
//!
//! The list is kept up to date at every look-up, as a buffer pool with eviction would have to: the
//! found frame moves to the front. That is six writes to shared memory per read, which is the cost
//! under study.

use core::ptr::NonNull;

use super::spread;
use crate::page::PageId;

/// Frames by page number, newest use first.
pub struct Lru {
    buckets: Vec<u32>,
    frames: Vec<Frame>,
    newest: u32,
    oldest: u32,
}

struct Frame {
    page: PageId,
    chain: u32,
    newer: u32,
    older: u32,
    memory: NonNull<u8>,
}

const NONE: u32 = u32::MAX;

impl Lru {
    /// Room for about `pages` pages without long chains.
    pub fn new(pages: usize) -> Self {
        let buckets = vec![NONE; (2 * pages).next_power_of_two().max(2)];
        Self { buckets, frames: Vec::with_capacity(pages), newest: NONE, oldest: NONE }
    }

    #[inline(always)]
    fn bucket(&self, page: PageId) -> usize {
        (spread(page) >> (32 - self.buckets.len().trailing_zeros())) as usize
    }

    /// Finds a page and makes it the newest.
    #[inline(always)]
    pub fn touch(&mut self, page: PageId) -> Option<NonNull<u8>> {
        let mut at = self.buckets[self.bucket(page)];
        while at != NONE {
            let frame = &self.frames[at as usize];
            if frame.page == page {
                let memory = frame.memory;
                self.make_newest(at);
                return Some(memory);
            }
            at = frame.chain;
        }
        None
    }

    /// Adds a page as the newest.
    pub fn add(&mut self, page: PageId, memory: NonNull<u8>) {
        let bucket = self.bucket(page);
        let at = self.frames.len() as u32;
        let chain = std::mem::replace(&mut self.buckets[bucket], at);
        self.frames.push(Frame { page, chain, newer: NONE, older: NONE, memory });
        self.link_newest(at);
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Lru {
        fn pages_newest_first(&self) -> Vec<PageId> {
            let mut pages = Vec::new();
            let mut at = self.newest;
            while at != NONE {
                pages.push(self.frames[at as usize].page);
                at = self.frames[at as usize].older;
            }
            pages
        }
    }

    /// The obvious twin: a vector with the newest first.
    #[test]
    fn the_list_is_in_order_of_use() {
        let mut lru = Lru::new(8);
        let mut twin: Vec<PageId> = Vec::new();
        for page in 0..40 {
            lru.add(page, NonNull::dangling());
            twin.insert(0, page);
        }
        for step in 0..1000_u32 {
            let page = step.wrapping_mul(step).wrapping_add(step / 7) % 40;
            assert!(lru.touch(page).is_some());
            twin.retain(|other| *other != page);
            twin.insert(0, page);
            assert_eq!(lru.pages_newest_first(), twin);
        }
        assert!(lru.touch(40).is_none());
    }
}
