//! Work on the parts of a range by as many threads as there are processors for this process.

use std::num::NonZero;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Bytes of a file whose tables and texts are worth a thread.
pub const WORTH_A_THREAD: usize = 1 << 20;

/// Parts for each thread: one that is held up leaves the rest to the others.
const PARTS: usize = 4;

/// Cuts `0..length` into parts of at least `least`, and gives the results of `work` in their order.
/// Nothing that is found depends on how many threads there are, if `work` does not look at where
/// its part begins and ends.
pub fn map<T: Send>(
    length: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    by(processors(), length, least, work)
}

/// How many there are for this process. Asked once: the answer is in some twenty files.
fn processors() -> usize {
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *PROCESSORS
}

/// Does both at the same time if that is worth it and a thread can be had, or one after the other.
pub fn both<A: Send, B>(
    is_worth_it: bool,
    one: impl Fn() -> A + Sync,
    other: impl FnOnce() -> B,
) -> (A, B) {
    if !is_worth_it {
        return (one(), other());
    }
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, &one);
        let other = other();
        let done = match started.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => one(),
        };
        (done, other)
    })
}

fn by<T: Send>(
    threads: usize,
    length: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let size = length.div_ceil(threads * PARTS).max(least).max(1);
    let count = length.div_ceil(size);
    let part = |number: usize| number * size..((number + 1) * size).min(length);
    if threads == 1 || count <= 1 {
        return (0..count).map(|number| work(part(number))).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(part(number))));
        }
    };
    let mut done = thread::scope(|scope| {
        // A thread that cannot be had leaves its parts to this one.
        let start = |_| thread::Builder::new().spawn_scoped(scope, take).ok();
        let others: Vec<_> = (1..threads.min(count)).filter_map(start).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_leave_nothing_out() {
        for (threads, length, least) in [(1, 10, 1), (3, 1000, 7), (8, 5, 1), (2, 0, 1), (2, 9, 99)]
        {
            let parts = by(threads, length, least, |part| part);
            let all: Vec<usize> = parts.into_iter().flatten().collect();
            assert_eq!(all, (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_is_not_smaller_than_what_is_worth_a_thread() {
        assert_eq!(by(8, 100, 60, |part| part.len()), [60, 40]);
    }
}
