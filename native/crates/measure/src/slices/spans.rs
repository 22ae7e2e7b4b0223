//! The spans in which a process' workers work, one after the other; between them they rest.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A time to work, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its number among those that count; none for the warm-up.
    pub index: Option<usize>,
    /// When it began.
    pub opened: u64,
    /// From when on operations count.
    pub start: u64,
    /// When it ends.
    pub end: u64,
}

#[derive(Default)]
struct State {
    /// How many spans were opened.
    opened: usize,
    span: Option<Span>,
    /// Workers that are through with it, or not there yet.
    resting: usize,
    is_over: bool,
}

/// What the conductor and the workers of a process share.
pub struct Spans {
    workers: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Spans {
    /// For so many workers; none has come yet.
    pub fn new(workers: usize) -> Self {
        Self { workers, state: Mutex::default(), changed: Condvar::new() }
    }

    /// A worker rests until a span is opened after the `seen`-th; none when all is over.
    pub fn next(&self, seen: usize) -> Option<(usize, Span)> {
        let mut state = self.lock();
        state.resting += 1;
        self.changed.notify_all();
        let state = self.wait_while(state, |state| state.opened <= seen && !state.is_over);
        let span = state.span.filter(|_| !state.is_over)?;
        Some((state.opened, span))
    }

    /// Opens a span to all workers, which rest.
    pub fn open(&self, span: Span) {
        let mut state = self.lock();
        (state.span, state.resting) = (Some(span), 0);
        state.opened += 1;
        self.changed.notify_all();
    }

    /// Waits until all workers rest; false if they do not by then.
    pub fn wait_for_rest(&self, patience: Duration) -> bool {
        let state = self.lock();
        let resting = |state: &mut State| state.resting < self.workers && !state.is_over;
        let waited = self.changed.wait_timeout_while(state, patience, resting);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// No more spans, for workers and conductor alike.
    pub fn finish(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        condition: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, condition).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn every_worker_gets_every_span_once_and_rests_between() {
        let spans = Spans::new(2);
        let seen = std::thread::scope(|scope| {
            let workers = [0, 1].map(|_| {
                scope.spawn(|| {
                    let (mut number, mut seen) = (0, Vec::new());
                    while let Some((next, span)) = spans.next(number) {
                        number = next;
                        seen.push(span.index);
                    }
                    seen
                })
            });
            for index in [None, Some(0), Some(1)] {
                assert!(spans.wait_for_rest(LONG));
                spans.open(Span { index, opened: 0, start: 0, end: 0 });
            }
            assert!(spans.wait_for_rest(LONG));
            spans.finish();
            workers.map(|worker| worker.join().unwrap())
        });
        assert_eq!(seen, [vec![None, Some(0), Some(1)], vec![None, Some(0), Some(1)]]);
    }

    #[test]
    fn a_worker_that_does_not_come_is_noticed() {
        assert!(!Spans::new(1).wait_for_rest(Duration::from_millis(1)));
    }
}
