//! The users that one thread serves: closed loops with waits, the earliest due first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use assay_primitives::Clock;

use super::job::{Job, Taken};
use crate::EngineError;

/// The longest sleep: the run may end meanwhile, and somebody must notice.
const NAP: Duration = Duration::from_millis(5);

/// A request that is due, and since when; `None` without waits, where the end of one request is
/// the beginning of the next.
pub struct Due<I> {
    /// The terminal, to be given back.
    pub terminal: usize,
    /// The request.
    pub taken: Taken<I>,
    /// Ticks at which its user had finished keying: what its latency counts from.
    pub since: Option<u64>,
}

/// The terminals of one thread.
pub struct Terminals<J: Job> {
    sources: Vec<J::Terminal>,
    /// Requests being keyed: due time, terminal.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    ready: Vec<Option<Taken<J::Input>>>,
    next: usize,
    clock: Clock,
    has_waits: bool,
}

impl<J: Job> Terminals<J> {
    /// The terminals whose number is `thread` modulo `threads`.
    pub fn new(
        job: &J,
        thread: usize,
        threads: usize,
        has_waits: bool,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        let numbers = (thread..job.terminals(threads)).step_by(threads);
        let sources: Vec<_> = numbers.map(|number| job.terminal(number)).collect();
        let ready = sources.iter().map(|_| None).collect();
        let waiting = BinaryHeap::new();
        let mut terminals = Self { sources, waiting, ready, next: 0, clock, has_waits };
        if has_waits {
            terminals.open(job)?;
        }
        Ok(terminals)
    }

    /// Users arrive spread over their first wait, not all at once.
    fn open(&mut self, job: &J) -> Result<(), EngineError> {
        let (now, users) = (self.clock.ticks(), self.sources.len() as u64);
        for terminal in 0..self.sources.len() {
            let taken = job.take(&mut self.sources[terminal])?;
            let wait = self.ticks(taken.before + taken.after) * terminal as u64 / users;
            self.ready[terminal] = Some(taken);
            self.waiting.push(Reverse((now + wait, terminal)));
        }
        Ok(())
    }

    fn ticks(&self, wait: Duration) -> u64 {
        self.clock.ticks_of_ns(wait.as_nanos() as u64)
    }

    /// The next request; `None` after a nap in which nobody became due.
    pub fn next(&mut self, job: &J) -> Result<Option<Due<J::Input>>, EngineError> {
        if self.has_waits { Ok(self.next_due()) } else { self.next_at_once(job).map(Some) }
    }

    fn next_at_once(&mut self, job: &J) -> Result<Due<J::Input>, EngineError> {
        let terminal = self.next;
        self.next = if terminal + 1 == self.sources.len() { 0 } else { terminal + 1 };
        let taken = job.take(&mut self.sources[terminal])?;
        Ok(Due { terminal, taken, since: None })
    }

    fn next_due(&mut self) -> Option<Due<J::Input>> {
        let Some(Reverse((due, terminal))) = self.waiting.peek().copied() else {
            std::thread::sleep(NAP);
            return None;
        };
        let now = self.clock.ticks();
        if due > now {
            let wait = Duration::from_nanos(self.clock.ns_between(now, due));
            std::thread::sleep(wait.min(NAP));
            return None;
        }
        self.waiting.pop();
        let taken = self.ready[terminal].take()?;
        Some(Due { terminal, taken, since: Some(due) })
    }

    /// The user of a terminal has the answer: it thinks, takes its next request, and keys it.
    pub fn answered(
        &mut self,
        job: &J,
        terminal: usize,
        after: Duration,
        now: u64,
    ) -> Result<(), EngineError> {
        if self.has_waits {
            let taken = job.take(&mut self.sources[terminal])?;
            let due = now + self.ticks(after + taken.before);
            self.ready[terminal] = Some(taken);
            self.waiting.push(Reverse((due, terminal)));
        }
        Ok(())
    }
}
