//! Atomic operations in every flavour, accesses under every order, counters at every distance:
//! nothing is lost between threads.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_primitives::atomics::Cell;
use assay_primitives::counters::{Counters, assay_counters_add};
use assay_primitives::orders::{Access, Order, function};
use assay_primitives::{Arena, Atomic, AtomicOperation, Atomics, PageMode, PrimitiveError};

const THREADS: u64 = 4;
const TIMES: u64 = 20_000;

#[test]
fn no_operation_of_any_flavour_is_lost() {
    for atomics in Atomics::ALL {
        for operation in AtomicOperation::ALL {
            let Ok(atomic) = Atomic::new(atomics, operation) else { continue };
            let mut cell = Cell::default();
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| atomic.run(&cell, TIMES));
                }
            });
            assert_eq!(cell.count(operation), THREADS * TIMES, "{atomics:?} {operation:?}");
        }
    }
}

#[test]
fn a_flavour_that_is_not_here_says_what_it_needs() {
    Atomic::new(Atomics::Std, AtomicOperation::Add).unwrap();
    let lse = Atomic::new(Atomics::Lse, AtomicOperation::Add);
    #[cfg(target_arch = "aarch64")]
    let has_lse = std::arch::is_aarch64_feature_detected!("lse");
    #[cfg(not(target_arch = "aarch64"))]
    let has_lse = false;
    assert_eq!(lse.is_ok(), has_lse);
    let is_arm = cfg!(target_arch = "aarch64");
    assert_eq!(Atomic::new(Atomics::LlSc, AtomicOperation::Cas).is_ok(), is_arm);
    if let Err(refused) = lse {
        let PrimitiveError::Missing { what, next } = refused else { panic!("{refused}") };
        assert!(what.contains("`lse`") && what.contains(std::env::consts::ARCH), "{what}");
        assert!(next.contains("aarch64 with LSE"), "{next}");
    }
}

#[test]
fn an_access_under_any_order_reads_and_writes_what_it_says() {
    for order in Order::ALL {
        let word = AtomicU64::new(7);
        let call = |access, times| {
            // SAFETY: the word is alive.
            unsafe { function(access, order)(&word, times) }
        };
        assert_eq!(call(Access::Load, 3), 21, "{order:?}");
        assert_eq!(call(Access::Rmw, 2), 7 + 8, "{order:?}");
        assert_eq!(word.load(Ordering::Relaxed), 9);
        assert_eq!(call(Access::Store, 4), 1 + 2 + 3 + 4, "{order:?}");
        assert_eq!(word.load(Ordering::Relaxed), 4);
    }
}

#[test]
fn counters_have_the_distance_asked_for_and_lose_nothing() {
    for stride in [8, 16, 32, 64, 128, 256] {
        let count = THREADS as usize;
        let arena = Arena::new(Counters::bytes(count, stride), PageMode::Small).unwrap();
        let counters = Counters::new(&arena, count, stride).unwrap();
        assert_eq!(counters.measured_stride_bytes(), stride);
        assert_eq!(std::ptr::from_ref(counters.counter(0)).addr() % 256, 0);
        std::thread::scope(|scope| {
            for index in 0..count {
                let counter = counters.counter(index);
                // SAFETY: the counter is alive for the whole scope.
                scope.spawn(move || unsafe { assay_counters_add(counter, TIMES) });
            }
        });
        assert_eq!(counters.sum(), THREADS * TIMES, "stride {stride}");
    }
}
