//! One small function, reached in four ways.
//!
//! What differs is only how the callee is found: inlined, called by name, called through a function
//! pointer, or through a table of virtual functions. Each loop is a function of its own,
//! `assay_call_WAY`; the values form a chain, so that calls cannot overlap.

use crate::arch::current::calls::call_directly;
use crate::named;

named! {
    /// How the callee is reached.
    pub enum Call {
        /// Not at all: its code is in the loop.
        Inlined "inlined",
        /// By its address in the code.
        Direct "direct",
        /// Through a function pointer read from memory.
        Pointer "pointer",
        /// Through the virtual table of a trait object.
        Dyn "dyn",
    }
}

/// Something that makes a number of a number.
pub(crate) trait Step: Send + Sync {
    /// The next number. Of C's convention, which knows no unwinding: each loop holds its call only.
    extern "C" fn step(&self, value: u64) -> u64;
}

/// The only implementor: three times the number and a constant.
#[repr(transparent)]
pub(crate) struct Plain {
    constant: u64,
}

impl Plain {
    #[inline(always)]
    fn inlined(&self, value: u64) -> u64 {
        value.wrapping_mul(3).wrapping_add(self.constant)
    }
}

impl Step for Plain {
    #[inline(never)]
    extern "C" fn step(&self, value: u64) -> u64 {
        self.inlined(value)
    }
}

/// The same as a plain function, for direct calls and pointers.
#[inline(never)]
pub(crate) extern "C" fn step(plain: &Plain, value: u64) -> u64 {
    plain.inlined(value)
}

/// A power of two, so that the next target is found without a division.
const TARGETS: usize = 8;

/// Callees, ready for each way.
pub struct Targets {
    plain: [Plain; TARGETS],
    pointers: [extern "C" fn(&Plain, u64) -> u64; TARGETS],
    objects: [Box<dyn Step>; TARGETS],
}

impl Targets {
    /// Eight callees with different constants.
    pub fn new() -> Self {
        let plain = |index: usize| Plain { constant: index as u64 };
        Self {
            plain: core::array::from_fn(plain),
            pointers: [step; TARGETS],
            objects: core::array::from_fn(|index| Box::new(plain(index)) as Box<dyn Step>),
        }
    }

    /// What any way must make of `value` after `times` calls.
    pub fn expected(times: u64, value: u64) -> u64 {
        (0..times)
            .fold(value, |value, call| value.wrapping_mul(3).wrapping_add(call % TARGETS as u64))
    }
}

impl Default for Targets {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls so many times, and returns the last number.
pub type Function = unsafe extern "C" fn(targets: *const Targets, times: u64, value: u64) -> u64;

/// The function of a way.
pub fn function(call: Call) -> Function {
    match call {
        Call::Inlined => assay_call_inlined,
        Call::Direct => assay_call_direct,
        Call::Pointer => assay_call_pointer,
        Call::Dyn => assay_call_dyn,
    }
}

macro_rules! call_functions {
    ($($symbol:ident: |$targets:ident, $index:ident, $value:ident| $call:expr;)+) => {$(
        /// Calls `times` times, each with the number before.
        ///
        /// # Safety
        /// `targets` points to live targets.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub unsafe extern "C" fn $symbol(targets: *const Targets, times: u64, value: u64) -> u64 {
            // SAFETY: the caller promises live targets.
            let $targets = unsafe { &*targets };
            let mut $value = value;
            for call in 0..times {
                let $index = call as usize % TARGETS;
                $value = $call;
            }
            $value
        }
    )+};
}

call_functions! {
    assay_call_inlined: |targets, index, value| targets.plain[index].inlined(value);
    assay_call_direct: |targets, index, value| call_directly(&targets.plain[index], value);
    assay_call_pointer: |targets, index, value| {
        (targets.pointers[index])(&targets.plain[index], value)
    };
    assay_call_dyn: |targets, index, value| targets.objects[index].step(value);
}
