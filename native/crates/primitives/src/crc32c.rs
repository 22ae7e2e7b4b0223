//! Choosing a CRC32C level, and calling it.
//!
//! The level is resolved once and called through a pointer, once per buffer. A level that the CPU
//! lacks is an error: falling back in silence is exactly the fault that Assay exists to find.
//! `address` is that very pointer, so that a census can say what the function that ran contains.

use crate::arch::all::crc32c::{Support, portable};
use crate::arch::current::crc32c as hardware;
use crate::{Address, Called, PrimitiveError, named};

named! {
    /// How CRC32C is computed.
    pub enum Crc32cLevel {
        /// One table look-up per byte.
        Bytewise "bytewise",
        /// Eight table look-ups per eight bytes.
        Slicing8 "slicing8",
        /// The CPU's CRC32C instruction, one stream.
        Hardware "hardware",
        /// Three interleaved streams of the CPU's CRC32C instruction.
        Hardware3way "hardware-3way",
        /// Folding 4 x 128 bits by x86-64's PCLMULQDQ.
        Pclmul "pclmul",
        /// Folding 4 x 128 bits by aarch64's PMULL.
        Pmull "pmull",
        /// Folding 4 x 512 bits by AVX-512 VPCLMULQDQ.
        Vpclmul "vpclmul",
        /// Folding by AVX-512 VPCLMULQDQ and three streams of the CRC32C instruction at once.
        Fusion "fusion",
    }
}

/// Takes readable bytes and the inverted CRC so far, and returns the inverted CRC.
pub type Function = unsafe extern "C" fn(*const u8, usize, u32) -> u32;

/// A level that this CPU has. Holding the value is the proof.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c {
    level: Crc32cLevel,
    function: Called<Function>,
}

/// Who chooses the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crc32cChoice {
    /// A right dispatch: the fastest level of this CPU for the length.
    Auto,
    /// A wrong dispatch, that of YDB's CRC library on Arm: it asks for the instructions of another
    /// architecture, finds none, and takes the slowest code on a CPU that has better.
    Misdispatched,
    /// Nobody: this level or an error.
    Forced(Crc32cLevel),
}

impl Crc32cLevel {
    /// The fastest level of this CPU for buffers of `length` bytes.
    pub fn best(length: usize) -> Self {
        let fits = |(least, level): &(usize, Crc32cLevel)| {
            *least <= length && matches!(hardware::support(*level), Support::Here(_))
        };
        let best = hardware::PREFERENCE.into_iter().find(fits);
        best.map_or(Crc32cLevel::Slicing8, |(_, level)| level)
    }
}

impl Crc32cChoice {
    /// Every choice with its name in requests.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        [("auto", Self::Auto), ("misdispatched", Self::Misdispatched)]
            .into_iter()
            .chain(Crc32cLevel::ALL.map(|level| (level.name(), Self::Forced(level))))
    }

    /// The level chosen for buffers of `length` bytes.
    pub fn level(self, length: usize) -> Crc32cLevel {
        match self {
            Self::Auto => Crc32cLevel::best(length),
            Self::Misdispatched => match hardware::support(hardware::FOREIGN) {
                Support::Here(_) => hardware::FOREIGN,
                Support::Lacking(_) | Support::Foreign => Crc32cLevel::Bytewise,
            },
            Self::Forced(level) => level,
        }
    }
}

impl Crc32c {
    /// Resolves a level, or says which CPU feature is missing.
    pub fn new(level: Crc32cLevel) -> Result<Self, PrimitiveError> {
        let support = portable(level).map_or_else(|| hardware::support(level), Support::Here);
        let choice = format!("crc32c level `{}`", level.name());
        let function = Called::new(
            support.require(&choice, "choose crc32c `auto`, `slicing8` or `bytewise`")?,
        );
        Ok(Self { level, function })
    }

    /// The level that is really used.
    pub fn level(&self) -> Crc32cLevel {
        self.level
    }

    /// The run-time address of the function that is called.
    pub fn address(&self) -> Address {
        self.function.address()
    }

    /// The CRC32C of a buffer.
    #[inline]
    pub fn checksum(&self, data: &[u8]) -> u32 {
        // SAFETY: `new` checked the CPU feature, and the slice is readable for its length.
        !unsafe { (self.function.function())(data.as_ptr(), data.len(), !0) }
    }
}
