//! Buffers on the chosen pages, a few for each thread, near the CPU of that thread.

use assay_primitives::smaps::Mapped;
use assay_primitives::{Arena, PageMode};
use assay_random::Random;

use crate::failure::Failure;
use crate::verbs::run::Run;

const ALIGNMENT: usize = 4096;
const BYTES_MAX: usize = 1 << 30;

/// Room for every thread's buffers.
pub struct Buffers {
    /// One for each thread.
    arenas: Vec<Arena>,
    seed: u64,
}

impl Buffers {
    /// Refuses sizes that cannot be, and maps room for `sizes` bytes for each thread.
    pub fn new(sizes: &[usize], run: &Run<'_>, pages: PageMode) -> Result<Self, Failure> {
        let each: usize = sizes.iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum();
        let arenas = run.cpus.iter().map(|cpu| Arena::near(each, pages, *cpu));
        Ok(Self { arenas: arenas.collect::<Result<_, _>>()?, seed: run.schedule.seed })
    }

    /// Whether a workload's `buffer_bytes` can be met.
    pub fn check(bytes: usize) -> Result<(), Failure> {
        if (1..=BYTES_MAX).contains(&bytes) {
            return Ok(());
        }
        let message = format!("workload.buffer_bytes is {bytes}: from 1 to {BYTES_MAX}");
        Err(Failure::usage(message))
    }

    /// A buffer of zeros for a thread, handed out once.
    #[allow(clippy::mut_from_ref)] // Every call gives other memory.
    pub fn zeroed(&self, thread: usize, bytes: usize) -> Result<&mut [u8], Failure> {
        let memory = self.arenas[thread].carve(bytes, ALIGNMENT);
        let memory =
            memory.ok_or_else(|| anyhow::anyhow!("the arena has no room for {bytes} bytes"))?;
        // SAFETY: the arena handed out these zeroed bytes to nobody else, and outlives the slice.
        Ok(unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), bytes) })
    }

    /// A thread's own random numbers.
    pub fn random(&self, thread: usize) -> Random {
        Random::new(self.seed, thread as u64)
    }

    /// A buffer of random bytes for a thread.
    pub fn filled(&self, thread: usize, bytes: usize) -> Result<&mut [u8], Failure> {
        let (buffer, mut random) = (self.zeroed(thread, bytes)?, self.random(thread));
        buffer.fill_with(|| random.bits() as u8);
        Ok(buffer)
    }

    /// What the kernel gave for all of them.
    pub fn obtained(&self) -> Result<Mapped, Failure> {
        let mut all = Mapped::default();
        for arena in &self.arenas {
            all.add(&arena.obtained()?);
        }
        Ok(all)
    }
}
