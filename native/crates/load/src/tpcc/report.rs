//! What a run is worth by the rules of clauses 5.2 to 5.4, as far as they apply.
//!
//! The caller measures and counts; this compares. tpmC here is committed New-Orders per minute:
//! those that roll back, one in a hundred, are not in it. Response times count from a
//! transaction's first attempt to its end, trying again included, if the caller records them so.

use std::fmt;
use std::time::Duration;

use assay_workload::tpcc::{Kind, Parameters};
use hdrhistogram::Histogram;

/// The most that one warehouse with its ten terminals can do when every response takes no time:
/// 600 terminal-minutes, 45 % New-Order, 20.99 s of waits per transaction on average.
pub const TPMC_PER_WAREHOUSE_MAX: f64 = 12.86;

/// What to say instead of an efficiency when terminals did not wait.
pub const NO_EFFICIENCY: &str = "no wait times: efficiency not applicable";

/// What was counted of one kind of transaction within the measured time.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'h> {
    /// Committed.
    pub committed: u64,
    /// Rolled back as the input demands.
    pub rolled_back: u64,
    /// Attempts that the server gave up and that were made again.
    pub conflicts: u64,
    /// Response times in nanoseconds.
    pub response_ns: &'h Histogram<u64>,
}

/// One kind of transaction against its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindReport {
    /// Which.
    pub kind: Kind,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the input demands.
    pub rolled_back: u64,
    /// Attempts that were made again.
    pub conflicts: u64,
    /// Its share of all that ended, in percent.
    pub share_percent: f64,
    /// The least share that clause 5.2.3 allows; none for New-Order.
    pub share_min_percent: Option<f64>,
    /// The 90th percentile of its response times; none if it never ran.
    pub percentile_90: Option<Duration>,
    /// What that must stay below (clause 5.2.5.7).
    pub limit: Duration,
}

impl KindReport {
    /// Whether its share is large enough.
    pub fn has_share(&self) -> bool {
        self.share_min_percent.is_none_or(|least| self.share_percent >= least)
    }

    /// Whether nine in ten were answered in time; one that never ran was not.
    pub fn is_in_time(&self) -> bool {
        self.percentile_90.is_some_and(|time| time < self.limit)
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Every kind, in the order of [`Kind::ALL`].
    pub kinds: [KindReport; 5],
    /// Committed New-Orders per minute; zero over no time.
    pub tpmc: f64,
    /// tpmC in percent of 12.86 per warehouse; only when terminals waited.
    pub efficiency_percent: Option<f64>,
    /// How large the database is, and whether that is the specification's scale.
    pub scale: String,
}

impl Report {
    /// Compares what was observed, in the order of [`Kind::ALL`], over the measured time.
    pub fn new(parameters: &Parameters, measured: Duration, observed: [Observed<'_>; 5]) -> Self {
        let ended: u64 = observed.iter().map(Observed::ended).sum();
        let kinds = Kind::ALL.map(|kind| kind_report(kind, &observed[kind as usize], ended));
        let minutes = measured.as_secs_f64() / 60.0;
        let committed = kinds[Kind::NewOrder as usize].committed as f64;
        let tpmc = if minutes > 0.0 { committed / minutes } else { 0.0 };
        let most = TPMC_PER_WAREHOUSE_MAX * f64::from(parameters.scale.warehouses);
        let efficiency_percent = parameters.has_waits.then_some(tpmc / most * 100.0);
        Self { kinds, tpmc, efficiency_percent, scale: parameters.scale.label() }
    }

    /// Whether every kind has its share and its response times. It is not enough for a TPC-C
    /// result, which Assay's runs never are.
    pub fn meets_limits(&self) -> bool {
        self.kinds.iter().all(|kind| kind.has_share() && kind.is_in_time())
    }
}

impl Observed<'_> {
    fn ended(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

fn kind_report(kind: Kind, observed: &Observed<'_>, ended: u64) -> KindReport {
    let Observed { committed, rolled_back, conflicts, response_ns } = *observed;
    let percentile =
        (!response_ns.is_empty()).then(|| Duration::from_nanos(response_ns.value_at_quantile(0.9)));
    KindReport {
        kind,
        committed,
        rolled_back,
        conflicts,
        share_percent: 100.0 * observed.ended() as f64 / ended.max(1) as f64,
        share_min_percent: share_min_percent(kind),
        percentile_90: percentile,
        limit: limit(kind),
    }
}

/// Clause 5.2.3.
fn share_min_percent(kind: Kind) -> Option<f64> {
    match kind {
        Kind::NewOrder => None,
        Kind::Payment => Some(43.0),
        Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => Some(4.0),
    }
}

/// Clause 5.2.5.7. A Delivery runs at once here, so that its limit is that of the interactive part.
fn limit(kind: Kind) -> Duration {
    Duration::from_secs(match kind {
        Kind::StockLevel => 20,
        Kind::NewOrder | Kind::Payment | Kind::OrderStatus | Kind::Delivery => 5,
    })
}

impl fmt::Display for KindReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { committed, rolled_back, conflicts, share_percent, .. } = self;
        write!(
            formatter,
            "{}: {committed} committed, {rolled_back} rolled back, {conflicts} conflicts, \
             {share_percent:.2} %",
            self.kind.name()
        )?;
        if let Some(least) = self.share_min_percent.filter(|_| !self.has_share()) {
            write!(formatter, " (below the least of {least} %)")?;
        }
        match self.percentile_90 {
            None => return formatter.write_str(", never ran"),
            Some(time) => write!(formatter, ", 90 % within {:.3} s", time.as_secs_f64())?,
        }
        if !self.is_in_time() {
            write!(formatter, " (the limit is {} s)", self.limit.as_secs())?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}: {:.1} tpmC", self.scale, self.tpmc)?;
        match self.efficiency_percent {
            Some(percent) => writeln!(
                formatter,
                "efficiency {percent:.1} % of {TPMC_PER_WAREHOUSE_MAX} tpmC per warehouse"
            )?,
            None => writeln!(formatter, "{NO_EFFICIENCY}")?,
        }
        self.kinds.iter().try_for_each(|kind| writeln!(formatter, "{kind}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A panic is how a test fails.

    use assay_workload::tpcc::Parameters;

    use super::*;

    fn times(seconds: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        seconds.iter().for_each(|second| histogram.record(second * 1_000_000_000).unwrap());
        histogram
    }

    fn report(has_waits: bool, payments: u64, slow: &[u64]) -> Report {
        let (fast, slow) = (times(&[1]), times(slow));
        let observed = |committed, rolled_back, response_ns| Observed {
            committed,
            rolled_back,
            conflicts: 3,
            response_ns,
        };
        let kinds = [
            observed(435, 5, &fast),
            observed(payments, 0, &fast),
            observed(40, 0, &slow),
            observed(40, 0, &fast),
            observed(40, 0, &slow),
        ];
        let parameters = Parameters { has_waits, ..Parameters::standard(2, 1) };
        Report::new(&parameters, Duration::from_secs(30), kinds)
    }

    #[test]
    fn committed_new_orders_per_minute_are_the_throughput() {
        let report = report(true, 440, &[1]);
        assert_eq!(report.tpmc, 870.0);
        let percent = report.efficiency_percent.unwrap();
        assert!((percent - 870.0 / 25.72 * 100.0).abs() < 1e-9, "{percent}");
        assert!(report.meets_limits());
        assert!(report.to_string().starts_with("TPC-C scale, 2 warehouses: 870.0 tpmC\n"));
    }

    #[test]
    fn without_waits_there_is_no_efficiency_and_the_report_says_so() {
        let report = report(false, 440, &[1]);
        assert_eq!(report.efficiency_percent, None);
        assert!(report.to_string().contains("\nno wait times: efficiency not applicable\n"));
    }

    #[test]
    fn a_share_below_its_least_is_named() {
        let report = report(true, 400, &[1]);
        assert!(!report.meets_limits());
        assert!(report.to_string().contains("41.67 % (below the least of 43 %)"), "{report}");
    }

    #[test]
    fn response_times_are_limited_to_5_s_and_stock_level_to_20() {
        let report = report(true, 440, &[1, 6]);
        let late: Vec<_> = report.kinds.iter().filter(|kind| !kind.is_in_time()).collect();
        assert_eq!(late.iter().map(|kind| kind.kind).collect::<Vec<_>>(), [Kind::OrderStatus]);
        assert!(late[0].to_string().ends_with("(the limit is 5 s)"));
    }

    #[test]
    fn a_kind_that_never_ran_is_not_in_time() {
        let report = report(true, 440, &[]);
        assert!(report.to_string().contains("never ran") && !report.meets_limits());
    }
}
