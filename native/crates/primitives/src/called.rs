//! A function that is called through the same value that is reported.
//!
//! A generic or inlined function has as many copies in an executable as the compiler likes. The address
//! that is taken in one place may be of a copy that nothing calls. Whoever calls through a `Called` and
//! reports its `address` cannot name another copy: it is the value that is called.

use core::fmt;
use core::hint::black_box;

/// The address of a function that is called through a [`Called`]. There is no other way to get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(usize);

impl Address {
    /// The run-time address.
    pub fn get(self) -> usize {
        self.0
    }
}

/// A function pointer.
#[derive(Clone, Copy)]
pub struct Called<F>(F);

impl<F: Copy + fmt::Pointer> Called<F> {
    /// Of a function pointer. The compiler is kept from knowing which, so it cannot call another copy.
    pub fn new(function: F) -> Self {
        const { assert!(size_of::<F>() == size_of::<usize>(), "not a pointer to a function") }
        Self(black_box(function))
    }

    /// The function, to be called at once: `(called.function())(...)`.
    #[inline(always)]
    pub fn function(&self) -> F {
        self.0
    }

    /// What is called.
    pub fn address(&self) -> Address {
        // SAFETY: `new` made sure of the size, and every pointer is a number of that size.
        Address(unsafe { core::mem::transmute_copy::<F, usize>(&self.0) })
    }
}

impl<F> fmt::Debug for Called<F>
where
    F: Copy + fmt::Pointer,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Called({:p})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(value: u64) -> u64 {
        2 * value
    }

    #[test]
    fn what_is_called_is_what_is_reported() {
        let called = Called::new(twice as fn(u64) -> u64);
        assert_eq!((called.function())(21), 42);
        assert_eq!(called.address().get(), called.function() as usize);
    }
}
