//! A ring buffer that the kernel writes records into: one of each CPU.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{self, Record};

/// Pages of data: with the page before them what an ordinary user may lock
/// (`kernel.perf_event_mlock_kb`).
const DATA_BYTES: usize = 512 << 10;
/// Where `struct perf_event_mmap_page` has its two positions.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// A mapping of an event's buffer.
pub struct Ring {
    base: *mut u8,
    page: usize,
    /// One record, put together where it wraps around the end.
    whole: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, and is not tied to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the buffer of an event that was just opened.
    pub fn map(event: RawFd) -> io::Result<Self> {
        // SAFETY: sysconf reads nothing of ours.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let length = page + DATA_BYTES;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, event, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), page, whole: Vec::new() })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as this value lives, and has aligned words
        // there.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    /// Takes out every record that is there.
    pub fn drain(&mut self, mut take: impl FnMut(Record)) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        while tail < head {
            let left = (head - tail).min(1 << 16) as usize;
            self.copy(tail, left);
            let Some((record, size)) = record::first(&self.whole) else { break };
            take(record);
            tail += size as u64;
        }
        // What could not be read is given up: the kernel begins anew at its head.
        self.position(TAIL).store(head, Ordering::Release);
    }

    /// Copies the record that begins at a position, and no more of what is there than it needs.
    fn copy(&mut self, from: u64, left: usize) {
        self.whole.clear();
        let mut header = [0; 8];
        self.read(from, &mut header[..left.min(8)]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]])).min(left);
        self.whole.resize(size, 0);
        let mut whole = std::mem::take(&mut self.whole);
        self.read(from, &mut whole);
        self.whole = whole;
    }

    fn read(&self, from: u64, into: &mut [u8]) {
        let start = (from % DATA_BYTES as u64) as usize;
        let until_end = into.len().min(DATA_BYTES - start);
        let (one, two) = into.split_at_mut(until_end);
        // SAFETY: both parts lie within the data, which the kernel does not write to between
        // tail and head.
        unsafe {
            let data = self.base.add(self.page);
            std::ptr::copy_nonoverlapping(data.add(start), one.as_mut_ptr(), one.len());
            std::ptr::copy_nonoverlapping(data, two.as_mut_ptr(), two.len());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, with this length, and nobody else has it.
        unsafe { libc::munmap(self.base.cast(), self.page + DATA_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

    use super::super::record::tests::{bytes_of, sample_bytes};
    use super::*;

    /// A ring on ordinary memory, and a writer in the kernel's place.
    struct Written {
        ring: Ring,
        _memory: OwnedFd,
    }

    impl Written {
        fn new() -> Self {
            // SAFETY: the name is a text that ends with zero; the descriptor is nobody else's.
            let memory = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"ring".as_ptr(), 0)) };
            let length = (1 << 20) as libc::off_t;
            // SAFETY: the call takes no memory of ours.
            assert_eq!(unsafe { libc::ftruncate(memory.as_raw_fd(), length) }, 0);
            Self { ring: Ring::map(memory.as_raw_fd()).unwrap(), _memory: memory }
        }

        fn write(&self, bytes: &[u8]) {
            let head = self.ring.position(HEAD).load(Ordering::Relaxed);
            for (place, byte) in bytes.iter().enumerate() {
                let at = (head as usize + place) % DATA_BYTES;
                // SAFETY: within the data of the mapping.
                unsafe { *self.ring.base.add(self.ring.page + at) = *byte };
            }
            self.ring.position(HEAD).store(head + bytes.len() as u64, Ordering::Release);
        }

        fn drained(&mut self) -> Vec<Record> {
            let mut found = Vec::new();
            self.ring.drain(|record| found.push(record));
            found
        }
    }

    #[test]
    fn records_come_out_once_and_in_order() {
        let mut written = Written::new();
        assert_eq!(written.drained(), []);
        written.write(&bytes_of(2, &[0, 3]));
        written.write(&bytes_of(2, &[0, 4]));
        assert_eq!(written.drained(), [Record::Lost(3), Record::Lost(4)]);
        assert_eq!(written.drained(), []);
    }

    #[test]
    fn a_record_that_wraps_around_the_end_is_put_together() {
        let mut written = Written::new();
        let user = -512_i64 as u64;
        let record = sample_bytes(5, 1, &[user, 0x1000, 0x2000]);
        let rounds = DATA_BYTES / record.len() + 2;
        for _ in 0..rounds {
            written.write(&record);
            let found = written.drained();
            assert!(matches!(&found[..], [Record::Sample { pid: 5, .. }]), "{found:?}");
        }
    }

    #[test]
    fn what_is_no_record_is_passed_over() {
        let mut written = Written::new();
        written.write(&[0; 64]);
        assert_eq!(written.drained(), []);
        written.write(&bytes_of(2, &[0, 4]));
        assert_eq!(written.drained(), [Record::Lost(4)]);
    }
}
