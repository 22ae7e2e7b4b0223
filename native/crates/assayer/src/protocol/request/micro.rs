//! The parts and workloads of `micro`. Types only; `protocol` has the meaning.

use assay_engine::Elision;
use assay_primitives::calls::Call;
use assay_primitives::codecs::Compression;
use assay_primitives::hashes::Hash;
use assay_primitives::simd::{Simd, SimdWork};
use assay_primitives::timers::Timer;
use assay_primitives::unaligned::Alignment;
use assay_primitives::{
    Access, AtomicOperation, Atomics, Crc32cChoice, Hint, LockKind, Order, PageMode,
};
use serde::{Deserialize, Deserializer};

use super::{EngineParts, elision, hint, lock, named, pages};

by_name! {
    atomics Atomics;
    atomic_operation AtomicOperation;
    order Order;
    access Access;
    call Call;
    alignment Alignment;
    timer Timer;
    hash Hash;
    compression Compression;
    simd Simd;
    simd_work SimdWork;
}

/// `parts` of `micro`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MicroParts {
    #[serde(deserialize_with = "hint")]
    pub hint: Hint,
    pub hint_ns: u32,
    pub hint_repeats: u32,
    #[serde(deserialize_with = "lock")]
    pub lock: LockKind,
    #[serde(deserialize_with = "elision")]
    pub elision: Elision,
    pub elision_retries: u32,
    pub spin_limit: u32,
    pub padding: usize,
    #[serde(deserialize_with = "pages")]
    pub pages: PageMode,
    pub repeat_every: u64,
    #[serde(deserialize_with = "crc32c")]
    pub crc32c: Crc32cChoice,
    #[serde(deserialize_with = "atomics")]
    pub atomics: Atomics,
    #[serde(deserialize_with = "order")]
    pub order: Order,
    pub stride: usize,
    #[serde(deserialize_with = "call")]
    pub call: Call,
    #[serde(deserialize_with = "alignment")]
    pub alignment: Alignment,
    #[serde(deserialize_with = "timer")]
    pub timer: Timer,
    #[serde(deserialize_with = "hash")]
    pub hash: Hash,
    #[serde(deserialize_with = "compression")]
    pub compression: Compression,
    pub zstd_level: i32,
    #[serde(deserialize_with = "simd")]
    pub simd: Simd,
}

impl Default for MicroParts {
    fn default() -> Self {
        let parts = EngineParts::default();
        let EngineParts { hint, lock, spin_limit, padding, pages, repeat_every, .. } = parts;
        Self {
            hint,
            hint_ns: 0,
            hint_repeats: 1,
            lock,
            elision: parts.elision,
            elision_retries: parts.elision_retries,
            spin_limit,
            padding,
            pages,
            repeat_every,
            crc32c: Crc32cChoice::Auto,
            atomics: Atomics::Std,
            order: Order::SeqCst,
            stride: 64,
            call: Call::Direct,
            alignment: Alignment::Aligned,
            timer: Timer::ClockGettime,
            hash: Hash::Xxh3Detected,
            compression: Compression::Lz4,
            zstd_level: 3,
            simd: Simd::Auto,
        }
    }
}

/// A level, or one of the dispatches that choose it.
fn crc32c<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Crc32cChoice, D::Error> {
    let choices: Vec<_> = Crc32cChoice::all().collect();
    named(deserializer, &choices, |(name, _)| name).map(|(_, choice)| choice)
}

/// `workload` of `micro`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum MicroWorkload {
    Lock(LockWorkload),
    Crc32c(Crc32cWorkload),
    Atomic(AtomicWorkload),
    Order(OrderWorkload),
    Counters(NoParameters),
    Call(NoParameters),
    Chase(ChaseWorkload),
    Unaligned(NoParameters),
    Timer(NoParameters),
    Hash(BufferWorkload),
    Compress(CompressWorkload),
    Simd(SimdWorkload),
}

/// Which thread takes which lock, or which word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locks {
    #[default]
    One,
    Each,
}

/// Taking and releasing a lock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LockWorkload {
    pub locks: Locks,
    pub hold: u32,
    pub gap: u32,
}

impl Default for LockWorkload {
    fn default() -> Self {
        Self { locks: Locks::One, hold: 4, gap: 20 }
    }
}

/// The CRC32C of a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Crc32cWorkload {
    pub buffer_bytes: usize,
}

impl Default for Crc32cWorkload {
    fn default() -> Self {
        Self { buffer_bytes: 16_384 }
    }
}

/// Atomic read-modify-write of words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AtomicWorkload {
    #[serde(deserialize_with = "atomic_operation")]
    pub operation: AtomicOperation,
    pub words: Locks,
}

impl Default for AtomicWorkload {
    fn default() -> Self {
        Self { operation: AtomicOperation::Add, words: Locks::One }
    }
}

/// Accesses under a memory order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OrderWorkload {
    #[serde(deserialize_with = "access")]
    pub access: Access,
    pub words: Locks,
}

impl Default for OrderWorkload {
    fn default() -> Self {
        Self { access: Access::Store, words: Locks::Each }
    }
}

/// Kinds that only parts shape: counters, calls, loads, timers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Dependent loads through a cycle of places.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChaseWorkload {
    pub bytes: usize,
    pub stride: usize,
}

impl Default for ChaseWorkload {
    fn default() -> Self {
        Self { bytes: 256 << 20, stride: 64 }
    }
}

/// Something over a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferWorkload {
    pub buffer_bytes: usize,
}

impl Default for BufferWorkload {
    fn default() -> Self {
        Self { buffer_bytes: 16_384 }
    }
}

/// Which way a buffer goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    Compress,
    Decompress,
}

/// Compressing or decompressing a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompressWorkload {
    pub buffer_bytes: usize,
    pub direction: Direction,
    pub repeated_percent: u64,
}

impl Default for CompressWorkload {
    fn default() -> Self {
        Self { buffer_bytes: 65_536, direction: Direction::Compress, repeated_percent: 60 }
    }
}

/// Vector code over a column.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SimdWorkload {
    #[serde(deserialize_with = "simd_work")]
    pub work: SimdWork,
    pub buffer_bytes: usize,
}

impl Default for SimdWorkload {
    fn default() -> Self {
        Self { work: SimdWork::Sum, buffer_bytes: 16_384 }
    }
}
