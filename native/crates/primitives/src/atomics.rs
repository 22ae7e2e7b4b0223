//! Atomic read-modify-write three ways: as compiled, by exclusives (LL/SC), by LSE.
//!
//! On aarch64 a load-exclusive and a store-exclusive may fail and be tried again for ever under
//! contention, where one LSE instruction cannot; compilers put a run-time choice between both into
//! a helper function ("outline atomics"). x86-64 has one way only, `std`.
//!
//! Each (operation, flavour) is a function of its own, `assay_atomic_OPERATION_FLAVOUR`, that
//! carries out many operations: the loop is inside, so that nothing but it is timed.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::current::atomics as current;
use crate::named;
use crate::{Address, Called, PrimitiveError};

named! {
    /// Which instructions carry out an atomic operation.
    pub enum Atomics {
        /// What the compiler makes of the standard library's atomics.
        Std "std",
        /// Load-exclusive and store-exclusive, in a loop.
        LlSc "ll-sc",
        /// The single instructions of Armv8.1.
        Lse "lse",
    }
}

named! {
    /// What is done to the cell, once an operation.
    pub enum AtomicOperation {
        /// One is added.
        Add "add",
        /// One is added by compare-and-swap, again until it succeeds.
        Cas "cas",
        /// A lock is taken by exchange, looking in between; a plain number behind it is raised; the
        /// lock is released.
        Lock "lock",
    }
}

/// What the operations work on, on cache lines of its own. All zero is the start.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Cell {
    pub(crate) word: AtomicU64,
    guarded: UnsafeCell<u64>,
}

// SAFETY: `guarded` is reached only by the holder of the lock in `word`, or by `count`, whose
// exclusive borrow says that nobody else is left.
unsafe impl Sync for Cell {}

impl Cell {
    /// How many operations have been carried out on this cell.
    pub fn count(&mut self, operation: AtomicOperation) -> u64 {
        match operation {
            AtomicOperation::Add | AtomicOperation::Cas => *self.word.get_mut(),
            AtomicOperation::Lock => *self.guarded.get_mut(),
        }
    }
}

/// Carries out an operation on a cell so many times.
pub type Function = unsafe extern "C" fn(cell: *const Cell, times: u64);

/// An operation in a flavour that this CPU has.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    function: Called<Function>,
}

impl Atomic {
    /// Resolves a choice, or says what is missing.
    pub fn new(atomics: Atomics, operation: AtomicOperation) -> Result<Self, PrimitiveError> {
        let choice = format!("atomics `{}`", atomics.name());
        let next = match atomics {
            Atomics::Std => "choose another operation",
            Atomics::LlSc => "choose atomics `std`, or run this on aarch64",
            Atomics::Lse => {
                "choose atomics `std`, or run this on aarch64 with LSE (CPU feature atomics)"
            }
        };
        let function = Called::new(current::function(atomics, operation).require(&choice, next)?);
        Ok(Self { function })
    }

    /// The run-time address of the function that is called.
    pub fn address(&self) -> Address {
        self.function.address()
    }

    /// Carries out the operation `times` times. All threads must use the same operation on a cell.
    pub fn run(&self, cell: &Cell, times: u64) {
        // SAFETY: `new` checked the CPU feature, and the cell is borrowed.
        unsafe { (self.function.function())(cell, times) }
    }
}

/// The three instructions that operations are made of.
pub(crate) trait Flavour {
    /// Adds one; acquires and releases.
    fn increment(word: &AtomicU64);
    /// Stores `new` if the word is `old`, and returns what it was; acquires and releases.
    fn compare_exchange(word: &AtomicU64, old: u64, new: u64) -> u64;
    /// Stores `new` and returns what was there; acquires and releases.
    fn exchange(word: &AtomicU64, new: u64) -> u64;
}

/// The standard library's atomics.
pub(crate) struct StdAtomics;

impl Flavour for StdAtomics {
    #[inline(always)]
    fn increment(word: &AtomicU64) {
        word.fetch_add(1, Ordering::AcqRel);
    }

    #[inline(always)]
    fn compare_exchange(word: &AtomicU64, old: u64, new: u64) -> u64 {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        word.compare_exchange(old, new, success, failure).unwrap_or_else(|seen| seen)
    }

    #[inline(always)]
    fn exchange(word: &AtomicU64, new: u64) -> u64 {
        word.swap(new, Ordering::AcqRel)
    }
}

#[inline(always)]
pub(crate) fn add<F: Flavour>(cell: &Cell, times: u64) {
    for _ in 0..times {
        F::increment(&cell.word);
    }
}

#[inline(always)]
pub(crate) fn cas<F: Flavour>(cell: &Cell, times: u64) {
    for _ in 0..times {
        let mut old = cell.word.load(Ordering::Relaxed);
        loop {
            let seen = F::compare_exchange(&cell.word, old, old + 1);
            if seen == old {
                break;
            }
            old = seen;
        }
    }
}

const FREE: u64 = 0;
const HELD: u64 = 1;
/// Looks at a held lock before the CPU is given away: its holder may be waiting for this one.
const POLLS: u32 = 1024;

#[inline(always)]
pub(crate) fn lock<F: Flavour>(cell: &Cell, times: u64) {
    for _ in 0..times {
        while F::exchange(&cell.word, HELD) != FREE {
            wait(&cell.word);
        }
        // SAFETY: the exchange above acquired the lock that guards this number.
        unsafe { *cell.guarded.get() += 1 };
        cell.word.store(FREE, Ordering::Release);
    }
}

#[inline(always)]
fn wait(word: &AtomicU64) {
    let mut polls = 0;
    while word.load(Ordering::Relaxed) != FREE {
        core::hint::spin_loop();
        polls += 1;
        if polls == POLLS {
            polls = 0;
            // SAFETY: sched_yield takes no argument and always succeeds on Linux.
            unsafe { libc::sched_yield() };
        }
    }
}

/// Defines exported functions `symbol = operation Flavour`.
macro_rules! atomic_functions {
    ($($(#[$attribute:meta])* $symbol:ident = $operation:ident $flavour:ident;)+) => {$(
        /// Carries out the operation on a cell, `times` times.
        ///
        /// # Safety
        /// `cell` points to a live cell that all threads use for this operation, and the CPU has
        /// the flavour's instructions.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub unsafe extern "C" fn $symbol(cell: *const crate::atomics::Cell, times: u64) {
            // SAFETY: the caller promises a live cell.
            crate::atomics::$operation::<$flavour>(unsafe { &*cell }, times);
        }
    )+};
}

pub(crate) use atomic_functions;
