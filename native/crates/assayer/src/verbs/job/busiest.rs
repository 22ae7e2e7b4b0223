//! The busiest thread of a command, looked at now and then: one that is always busy is a limit of its
//! own, however many CPUs idle beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_sampler::ProcessTree;

/// Between two looks, each of which reads all of /proc.
const EVERY: Duration = Duration::from_millis(500);
/// The first look: a command has its threads by then, or is over.
const FIRST: Duration = Duration::from_millis(100);

/// CPU seconds by thread, up to the last look.
pub struct Busiest {
    pid: u32,
    threads: BTreeMap<libc::pid_t, f64>,
    seen: Duration,
    next: Duration,
}

impl Busiest {
    /// Of a command that has just begun.
    pub fn of(pid: u32) -> Self {
        Self { pid, threads: BTreeMap::new(), seen: Duration::ZERO, next: FIRST }
    }

    /// Looks, if it is time to.
    pub fn look(&mut self, elapsed: Duration) {
        if elapsed < self.next {
            return;
        }
        self.next = elapsed + EVERY;
        let Some(tree) = ProcessTree::read(self.pid) else { return };
        self.threads.extend(tree.threads_cpu_s());
        self.seen = elapsed;
    }

    /// The share of a CPU that the busiest thread took; of a command that was over before the first
    /// look, what it took in all, as if by one.
    pub fn share(&self, wall: Duration, cpu_s: f64) -> f64 {
        let most = self.threads.values().copied().reduce(f64::max);
        let (cpu_s, of) = most.map_or((cpu_s, wall), |most| (most, self.seen));
        (cpu_s / of.as_secs_f64().max(1e-9)).min(1.0)
    }
}
