//! Memory that the kernel puts received bytes into: it takes a buffer when bytes have come, so that
//! connections that wait need none.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Buffers, a power of two, and the size of each. More that comes at once waits in the socket.
const BUFFERS: u16 = 128;
pub const RING_BUFFER_BYTES: usize = 16 * 1024;
const ENTRIES_BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();
/// Its number among the rings of buffers.
pub const GROUP: u16 = 0;

pub struct BufferRing {
    /// The entries, which the kernel reads, then the buffers.
    memory: NonNull<u8>,
    /// Entries ever handed over.
    tail: u16,
}

impl BufferRing {
    /// Makes the memory known to a ring.
    pub fn new(submitter: &Submitter<'_>) -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory is wanted, wherever the kernel puts it.
        let memory = unsafe {
            mmap_anonymous(std::ptr::null_mut(), Self::BYTES, protection, MapFlags::PRIVATE)?
        };
        let memory = NonNull::new(memory.cast()).ok_or(Errno::NOMEM)?;
        let mut ring = Self { memory, tail: 0 };
        // SAFETY: the memory is page-aligned, large enough, and unmapped only after the ring is
        // gone, which its owner sees to.
        unsafe {
            submitter.register_buf_ring_with_flags(memory.addr().get() as u64, BUFFERS, GROUP, 0)
        }
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
        for buffer in 0..BUFFERS {
            ring.give_back(buffer);
        }
        Ok(ring)
    }

    const BYTES: usize = ENTRIES_BYTES + BUFFERS as usize * RING_BUFFER_BYTES;

    fn buffer(&self, number: u16) -> NonNull<u8> {
        let offset = ENTRIES_BYTES + usize::from(number % BUFFERS) * RING_BUFFER_BYTES;
        // SAFETY: within the mapping, as the number is below the count.
        unsafe { self.memory.add(offset) }
    }

    /// What the kernel has put into a buffer that it has handed over.
    pub fn bytes(&self, number: u16, length: usize) -> &[u8] {
        // SAFETY: the kernel fills a buffer before it hands it over and leaves it alone until it is
        // given back, for which `self` is borrowed anew.
        unsafe {
            std::slice::from_raw_parts(self.buffer(number).as_ptr(), length.min(RING_BUFFER_BYTES))
        }
    }

    /// Hands a buffer to the kernel.
    pub fn give_back(&mut self, number: u16) {
        let entries = self.memory.as_ptr().cast::<BufRingEntry>();
        let place = usize::from(self.tail % BUFFERS);
        let address = self.buffer(number).addr().get() as u64;
        // SAFETY: the place is in the ring, and the kernel reads no entry beyond the tail.
        let entry = unsafe { &mut *entries.add(place) };
        entry.set_addr(address);
        entry.set_len(RING_BUFFER_BYTES as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, in a field that entries do not use; it is
        // aligned, and the kernel reads it as an atomic.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for BufferRing {
    fn drop(&mut self) {
        // SAFETY: nobody holds bytes of it, and the ring that knew it is gone.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), Self::BYTES) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own can be taken back");
    }
}
