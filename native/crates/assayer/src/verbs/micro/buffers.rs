//! Buffers on the chosen pages, a few for each thread.

use assay_primitives::{Arena, PageMode};
use assay_workload::random::Random;

use crate::failure::Failure;

const ALIGNMENT: usize = 4096;
const BYTES_MAX: usize = 1 << 30;

/// Room for every thread's buffers.
pub struct Buffers {
    arena: Arena,
    seed: u64,
}

impl Buffers {
    /// Refuses sizes that cannot be, and maps room for `sizes` bytes for each of `threads`.
    pub fn new(
        sizes: &[usize],
        threads: usize,
        seed: u64,
        pages: PageMode,
    ) -> Result<Self, Failure> {
        let each: usize = sizes.iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum();
        Ok(Self { arena: Arena::new(threads * each + ALIGNMENT, pages)?, seed })
    }

    /// Whether a workload's `buffer_bytes` can be met.
    pub fn check(bytes: usize) -> Result<(), Failure> {
        if (1..=BYTES_MAX).contains(&bytes) {
            return Ok(());
        }
        let message = format!("workload.buffer_bytes is {bytes}: from 1 to {BYTES_MAX}");
        Err(Failure::usage(message))
    }

    /// A buffer of zeros that is handed out once.
    #[allow(clippy::mut_from_ref)] // Every call gives other memory.
    pub fn zeroed(&self, bytes: usize) -> Result<&mut [u8], Failure> {
        let memory = self.arena.carve(bytes, ALIGNMENT);
        let memory =
            memory.ok_or_else(|| anyhow::anyhow!("the arena has no room for {bytes} bytes"))?;
        // SAFETY: the arena handed out these zeroed bytes to nobody else, and outlives the slice.
        Ok(unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), bytes) })
    }

    /// A thread's own random numbers.
    pub fn random(&self, thread: usize) -> Random {
        Random::new(self.seed, thread as u64)
    }

    /// The memory that they lie in.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
}
