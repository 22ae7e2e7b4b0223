//! Memory that the kernel puts received bytes into.

use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::Result;
use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::BUFFER_BYTES;

/// A power of two.
const BUFFERS: u16 = 128;
const ENTRIES_BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();
const BYTES: usize = ENTRIES_BYTES + BUFFERS as usize * BUFFER_BYTES;
/// Its number among the rings of buffers.
pub const GROUP: u16 = 0;

/// A ring of buffers. It stays until the process ends.
pub struct RingBuffers {
    memory: *mut u8,
    tail: u16,
}

impl RingBuffers {
    /// Makes new memory known to a ring.
    pub fn new(submitter: &Submitter<'_>) -> Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory is wanted, wherever the kernel puts it.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), BYTES, protection, MapFlags::PRIVATE)? };
        // SAFETY: page-aligned, large enough, and never unmapped.
        unsafe { submitter.register_buf_ring_with_flags(memory as u64, BUFFERS, GROUP, 0)? };
        let mut ring = Self { memory: memory.cast(), tail: 0 };
        for buffer in 0..BUFFERS {
            ring.give_back(buffer);
        }
        Ok(ring)
    }

    /// Hands a buffer to the kernel.
    pub fn give_back(&mut self, number: u16) {
        let entries = self.memory.cast::<BufRingEntry>();
        let offset = ENTRIES_BYTES + usize::from(number % BUFFERS) * BUFFER_BYTES;
        // SAFETY: the place is in the ring, and the kernel reads no entry beyond the tail.
        let entry = unsafe { &mut *entries.add(usize::from(self.tail % BUFFERS)) };
        entry.set_addr(self.memory as u64 + offset as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in a field of the first entry that entries do not use; it is
        // aligned, and the kernel reads it as an atomic.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
