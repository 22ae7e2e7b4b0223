//! What a worker drives, and what it tells of each operation that ends.

use core::fmt;

use assay_primitives::Contention;

use crate::Result;

/// The end of one operation, or of several that are timed together.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Clock ticks since which its user waits; `None`: since the stamp before.
    pub since: Option<u64>,
    /// Clock ticks at the end.
    pub end_ticks: u64,
    /// Index into the unit's kinds.
    pub kind: usize,
    /// How many operations it is. The time is divided by it, except for what is sent.
    pub operations: u64,
    /// Whether it failed.
    pub is_error: bool,
    /// Carried out like any other, and not counted.
    pub is_extra: bool,
    /// For what is sent to a server: when it was sent, and whether it could have been sent in time.
    pub sent: Option<Sent>,
}

/// When a request was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Clock ticks.
    pub ticks: u64,
    /// Whether its connection was idle when it was due, so that any lateness is the client's.
    pub was_idle: bool,
    /// If the server refused it: the place of what it said in the list of all that it says.
    pub refused: Option<usize>,
}

impl Done {
    /// One operation of the first kind that ended as it should.
    #[inline(always)]
    pub fn at(end_ticks: u64) -> Self {
        let (is_error, is_extra, sent) = (false, false, None);
        Self { since: None, end_ticks, kind: 0, operations: 1, is_error, is_extra, sent }
    }
}

/// How a unit times its operations.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Ends that one call of the unit stamps.
    pub ends: usize,
    /// Operations behind each.
    pub operations: u64,
}

impl Default for Timed {
    fn default() -> Self {
        Self { ends: 1, operations: 1 }
    }
}

/// What one latency is of.
impl fmt::Display for Timed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operations {
            1 => out.write_str("operations"),
            many => write!(out, "batches of {many}"),
        }
    }
}

/// What a unit has counted since it was made.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Contention by lock class; the classes are the same at every reading.
    pub contention: Vec<(&'static str, Contention)>,
    /// Look-ups by role.
    pub lookups: Vec<(&'static str, u64)>,
    /// Whatever else the unit counts, by name.
    pub counters: Vec<(&'static str, u64)>,
    /// Operations carried out, counted or not.
    pub executed: u64,
}

impl Counts {
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let contention = self.contention.iter().zip(&earlier.contention);
        let numbers = |now: &[(&'static str, u64)], then: &[(&'static str, u64)]| {
            now.iter().zip(then).map(|(now, then)| (now.0, now.1 - then.1)).collect()
        };
        Self {
            contention: contention.map(|(now, then)| (now.0, now.1.since(&then.1))).collect(),
            lookups: numbers(&self.lookups, &earlier.lookups),
            counters: numbers(&self.counters, &earlier.counters),
            executed: self.executed - earlier.executed,
        }
    }

    /// Adds another thread's counts, of the same classes.
    pub fn add(&mut self, other: &Self) {
        if self.contention.is_empty() {
            self.contention =
                other.contention.iter().map(|(name, _)| (*name, Contention::default())).collect();
        }
        for (own, others) in self.contention.iter_mut().zip(&other.contention) {
            own.1.add(&others.1);
        }
        add_numbers(&mut self.lookups, &other.lookups);
        add_numbers(&mut self.counters, &other.counters);
        self.executed += other.executed;
    }
}

fn add_numbers(own: &mut Vec<(&'static str, u64)>, other: &[(&'static str, u64)]) {
    if own.is_empty() {
        own.extend(other.iter().map(|(name, _)| (*name, 0)));
    }
    own.iter_mut().zip(other).for_each(|(own, others)| own.1 += others.1);
}

/// What a worker thread drives.
pub trait Unit {
    /// Carries out a batch and appends the end of each operation to `done`. Without work it
    /// returns soon, with none.
    fn run(&mut self, done: &mut Vec<Done>) -> Result<()>;

    /// What has been counted so far.
    fn counts(&self) -> Counts;

    /// A span begins that ends at `until`, in clock ticks. Without slices it is never called.
    fn resume(&mut self, _until: u64) {}

    /// A span is over: nothing may be under way when this returns.
    fn hold(&mut self) -> Result<()> {
        Ok(())
    }
}
