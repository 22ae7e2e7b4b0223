//! Running a task of a test, and counting what it allocates.

#[path = "worker.rs"]
mod worker;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub use worker::run;

thread_local! {
    /// Allocations of this thread, and the largest of them in bytes.
    static ALLOCATED: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

#[allow(dead_code)] // Not every file of tests counts.
/// How often this thread has allocated since the last call, and how many bytes at most.
pub fn take_allocations() -> (u64, usize) {
    ALLOCATED.take()
}

struct Counting;

fn count(bytes: usize) {
    let (times, most) = ALLOCATED.get();
    ALLOCATED.set((times + 1, most.max(bytes)));
}

// SAFETY: everything is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
