//! A sum and a count over a column, with no vectors, the compiler's, and written by hand.
//!
//! `translated` is what porting by a translating header gives: the program written for SSE2, its
//! intrinsics put together from NEON's. Most map one to one; the mask of a comparison
//! (`movemask`), which the count needs, does not. It exists on aarch64 only.
//!
//! Each (work, level) is a function of its own, `assay_simd_WORK_LEVEL`.

use crate::arch::all::simd as portable;
use crate::arch::current::simd as current;
use crate::named;
use crate::support::Support;
use crate::{Address, Called, PrimitiveError};

named! {
    /// What is computed over the column.
    pub enum SimdWork {
        /// The sum of 32-bit numbers, wrapping.
        Sum "sum",
        /// How many bytes are at least a threshold.
        Filter "filter",
    }
}

named! {
    /// Who writes the vector code.
    pub enum Simd {
        /// Nobody: one number at a time.
        Scalar "scalar",
        /// The compiler, for the architecture's baseline.
        Auto "auto",
        /// By hand, 128 bits of x86-64.
        Sse2 "sse2",
        /// By hand, 256 bits of x86-64.
        Avx2 "avx2",
        /// By hand, 128 bits of aarch64.
        Neon "neon",
        /// The SSE2 program with its intrinsics mapped to NEON.
        Translated "translated",
    }
}

/// Goes over a column of `length` bytes. `threshold` is the filter's; a sum ignores it.
pub type Function = unsafe extern "C" fn(data: *const u8, length: usize, threshold: u8) -> u64;

/// Work at a level that this CPU has.
#[derive(Clone, Copy, Debug)]
pub struct SimdFunction {
    function: Called<Function>,
}

impl SimdFunction {
    /// Resolves a level, or says what is missing.
    pub fn new(level: Simd, work: SimdWork) -> Result<Self, PrimitiveError> {
        let support = match level {
            Simd::Scalar => Support::Here(match work {
                SimdWork::Sum => portable::assay_simd_sum_scalar as Function,
                SimdWork::Filter => portable::assay_simd_filter_scalar,
            }),
            Simd::Auto => Support::Here(match work {
                SimdWork::Sum => portable::assay_simd_sum_auto as Function,
                SimdWork::Filter => portable::assay_simd_filter_auto,
            }),
            _ => current::function(level, work),
        };
        let choice = format!("simd level `{}`", level.name());
        let function = Called::new(
            support.require(&choice, "choose simd `scalar`, `auto` or this CPU's own")?,
        );
        Ok(Self { function })
    }

    /// The run-time address of the function that is called.
    pub fn address(&self) -> Address {
        self.function.address()
    }

    /// Computes over a column; a sum leaves out what is left of its last four bytes.
    pub fn run(&self, column: &[u8], threshold: u8) -> u64 {
        // SAFETY: `new` checked the CPU feature, and the slice is readable for its length.
        unsafe { (self.function.function())(column.as_ptr(), column.len(), threshold) }
    }
}
