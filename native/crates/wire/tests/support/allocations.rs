//! An allocator that counts, for each thread by itself, what it takes.
#![allow(dead_code)] // Not every test uses everything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[derive(Clone, Copy)]
struct Taken {
    times: u64,
    largest_bytes: usize,
    held_bytes: i64,
}

thread_local! {
    static TAKEN: Cell<Taken> = const { Cell::new(Taken { times: 0, largest_bytes: 0, held_bytes: 0 }) };
}

/// How often this thread has allocated.
pub fn times() -> u64 {
    TAKEN.get().times
}

/// The largest allocation of this thread since the last call, in bytes.
pub fn take_largest_bytes() -> usize {
    let taken = TAKEN.get();
    TAKEN.set(Taken { largest_bytes: 0, ..taken });
    taken.largest_bytes
}

/// Bytes that this thread has taken and not given back.
pub fn held_bytes() -> i64 {
    TAKEN.get().held_bytes
}

fn count(bytes: usize, gained_bytes: i64) {
    // A thread that is ending counts no more.
    let _ = TAKEN.try_with(|taken| {
        let Taken { times, largest_bytes, held_bytes } = taken.get();
        taken.set(Taken {
            times: times + 1,
            largest_bytes: largest_bytes.max(bytes),
            held_bytes: held_bytes + gained_bytes,
        });
    });
}

struct Counting;

// SAFETY: everything is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), layout.size() as i64);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = TAKEN.try_with(|taken| {
            let before = taken.get();
            let held_bytes = before.held_bytes - layout.size() as i64;
            taken.set(Taken { held_bytes, ..before });
        });
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, size as i64 - layout.size() as i64);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
