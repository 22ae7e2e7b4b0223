//! Choosing a CRC32C level, and calling it.
//!
//! The level is resolved once and called through a pointer, once per buffer. A level that the CPU
//! lacks is an error: falling back in silence is exactly the fault that Assay exists to find.
//! `address` is that very pointer, so that a census can say what the function that ran contains.

use crate::PrimitiveError;
use crate::arch::all::crc32c as software;
use crate::arch::current::crc32c as hardware;

/// How CRC32C is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crc32cLevel {
    /// One table look-up per byte.
    Bytewise,
    /// Eight table look-ups per eight bytes.
    Slicing8,
    /// The CPU's CRC32C instruction.
    Hardware,
}

type Function = unsafe extern "C" fn(*const u8, usize, u32) -> u32;

/// A level that this CPU has. Holding the value is the proof.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c {
    level: Crc32cLevel,
    function: Function,
}

impl Crc32cLevel {
    /// Every level, slowest first.
    pub const ALL: [Crc32cLevel; 3] =
        [Crc32cLevel::Bytewise, Crc32cLevel::Slicing8, Crc32cLevel::Hardware];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            Crc32cLevel::Bytewise => "bytewise",
            Crc32cLevel::Slicing8 => "slicing8",
            Crc32cLevel::Hardware => "hardware",
        }
    }

    /// The fastest level of this CPU.
    pub fn best() -> Self {
        if hardware::is_available() { Crc32cLevel::Hardware } else { Crc32cLevel::Slicing8 }
    }
}

impl Crc32c {
    /// Resolves a level, or says which CPU feature is missing.
    pub fn new(level: Crc32cLevel) -> Result<Self, PrimitiveError> {
        let function: Function = match level {
            Crc32cLevel::Bytewise => software::assay_crc32c_bytewise,
            Crc32cLevel::Slicing8 => software::assay_crc32c_slicing8,
            Crc32cLevel::Hardware if hardware::is_available() => hardware::assay_crc32c_hardware,
            Crc32cLevel::Hardware => {
                return Err(PrimitiveError::Missing {
                    what: format!(
                        "crc32c level `hardware` needs CPU feature {}",
                        hardware::FEATURE
                    ),
                    next: "choose crc32c `auto`, `slicing8` or `bytewise`".to_owned(),
                });
            }
        };
        Ok(Self { level, function })
    }

    /// The level that is really used.
    pub fn level(&self) -> Crc32cLevel {
        self.level
    }

    /// The run-time address of the function that is called.
    pub fn address(&self) -> usize {
        self.function as usize
    }

    /// The CRC32C of a buffer.
    #[inline]
    pub fn checksum(&self, data: &[u8]) -> u32 {
        // SAFETY: `new` checked the CPU feature, and the slice is readable for its length.
        !unsafe { (self.function)(data.as_ptr(), data.len(), !0) }
    }
}
