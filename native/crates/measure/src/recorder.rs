//! Latency histograms: one per kind of operation, per thread, per interval.
//!
//! HdrHistogram with three significant digits from 1 ns to 100 s; longer is recorded as 100 s.
//! Intervals are added up by the main thread, so a worker records each operation once.

use anyhow::anyhow;
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::Result;

const LONGEST_NS: u64 = 100_000_000_000;
const DIGITS: u8 = 3;

/// One histogram of nanoseconds.
pub type Latencies = Histogram<u64>;

/// An empty histogram.
pub fn empty() -> Latencies {
    // The bounds are constants that the library accepts: high is at least twice low, digits <= 5.
    #[allow(clippy::unwrap_used)]
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).unwrap()
}

/// HdrHistogram V2 with deflate, as base64.
pub fn encode(histogram: &Latencies) -> Result<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| anyhow!("encoding a histogram: {error}"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// What was recorded in one interval, or over the whole window.
pub struct Recording {
    /// One histogram per kind, in the order of the unit's kinds.
    pub by_kind: Vec<Latencies>,
    /// Operations that failed; they are part of the histograms too.
    pub errors: u64,
    /// Operations that ended in each millisecond of a slice's lead, and are in no histogram.
    pub early: Vec<u64>,
    /// What is known of operations that are sent to a server.
    pub sends: Option<Box<Sends>>,
}

/// How requests were sent, and what the server took for them.
pub struct Sends {
    /// From the send to the answer.
    pub service: Latencies,
    /// How long after the intended time they were sent, where the connection was idle by then.
    pub lateness: Latencies,
    /// Requests that the server refused, by the place of what it said.
    pub refused: Vec<u64>,
}

impl Sends {
    fn new() -> Box<Self> {
        Box::new(Self { service: empty(), lateness: empty(), refused: Vec::new() })
    }
}

impl Recording {
    /// Nothing yet.
    pub fn new(kinds: usize) -> Self {
        let by_kind = (0..kinds).map(|_| empty()).collect();
        Self { by_kind, errors: 0, early: Vec::new(), sends: None }
    }

    /// Records the sending of operations: what the server took, and how late they were if the
    /// client was to blame.
    #[inline]
    pub fn record_send(&mut self, service_ns: u64, late_ns: Option<u64>, operations: u64) {
        let sends = self.sends.get_or_insert_with(Sends::new);
        sends.service.saturating_record_n(service_ns.max(1), operations);
        if let Some(late_ns) = late_ns {
            sends.lateness.saturating_record(late_ns.max(1));
        }
    }

    /// Counts a request that the server refused.
    #[inline]
    pub fn record_refusal(&mut self, place: Option<usize>) {
        if let Some(place) = place {
            let counts = &mut self.sends.get_or_insert_with(Sends::new).refused;
            counts.resize(counts.len().max(place + 1), 0);
            counts[place] += 1;
        }
    }

    /// Counts operations that ended so many milliseconds after a slice began.
    #[inline]
    pub fn count_early(&mut self, millisecond: usize, operations: u64) {
        self.early.resize(self.early.len().max(millisecond + 1), 0);
        self.early[millisecond] += operations;
    }

    /// Records operations that took `ns` each.
    #[inline]
    pub fn record(&mut self, kind: usize, ns: u64, operations: u64, is_error: bool) {
        self.by_kind[kind].saturating_record_n(ns.max(1), operations);
        self.errors += u64::from(is_error);
    }

    /// Adds another recording of the same kinds.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        for (own, others) in self.by_kind.iter_mut().zip(&other.by_kind) {
            own.add(others).map_err(|error| anyhow!("adding histograms: {error}"))?;
        }
        self.errors += other.errors;
        for (millisecond, operations) in other.early.iter().enumerate() {
            self.count_early(millisecond, *operations);
        }
        if let Some(others) = &other.sends {
            let own = self.sends.get_or_insert_with(Sends::new);
            own.refused.resize(own.refused.len().max(others.refused.len()), 0);
            own.refused.iter_mut().zip(&others.refused).for_each(|(own, count)| *own += count);
            let added = own.service.add(&others.service);
            added
                .and_then(|()| own.lateness.add(&others.lateness))
                .map_err(|error| anyhow!("adding histograms: {error}"))?;
        }
        Ok(())
    }

    /// All kinds in one histogram.
    pub fn all(&self) -> Result<Latencies> {
        let mut all = empty();
        for histogram in &self.by_kind {
            all.add(histogram).map_err(|error| anyhow!("adding histograms: {error}"))?;
        }
        Ok(all)
    }

    /// How many operations were recorded.
    pub fn operations(&self) -> u64 {
        self.by_kind.iter().map(Histogram::len).sum()
    }
}
