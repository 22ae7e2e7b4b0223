//! The low-level mechanisms whose effect Assay measures, and the clock it measures with.
//!
//! Everything that exists in several forms is a closed enum (`LockKind`, `Hint`, `Crc32cLevel`,
//! `PageMode`, `Atomics`, ...) plus one function that turns a choice into something callable. A choice that this
//! CPU or this host cannot honour is an error, never a silent fallback: a measurement of the wrong
//! variant is worse than none.
//!
//! Whatever a witness must tell apart is a function of its own with a readable exported symbol
//! (see `locks`, `crc32c`, `atomics`). Code that knows an instruction set lives under `arch` only.
//!
//! Not here: anything that knows keys, rows or requests.

pub mod arch;
pub mod atomics;
pub mod called;
pub mod calls;
pub mod chase;
pub mod clock;
pub mod codecs;
pub mod counters;
pub mod crc32c;
pub mod error;
pub mod hashes;
pub mod hint;
pub mod htm;
pub mod locks;
mod named;
pub mod orders;
pub mod pages;
pub mod simd;
pub mod smaps;
pub mod support;
pub mod sync;
pub mod timers;
pub mod unaligned;

pub use atomics::{Atomic, AtomicOperation, Atomics};
pub use called::{Address, Called};
pub use clock::Clock;
pub use crc32c::{Crc32c, Crc32cChoice, Crc32cLevel};
pub use error::PrimitiveError;
pub use hint::Hint;
pub use locks::{AnyLockContext, Contention, LockContext, LockKind, LockTable, RawLock};
pub use orders::{Access, Order};
pub use pages::{Arena, PageMode};
