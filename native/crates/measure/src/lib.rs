//! The measuring loop, once for everything that is measured.
//!
//! A [`Unit`] carries out operations on a thread that is pinned; a [`Measurement`] drives one a thread
//! through warm-up and window (`driver`), records how long each operation took (`recorder`), and reads
//! the host around it (`host`). Where arms take turns it works in slices (`slices`).
//!
//! Not here: what an operation is, and how results are written.

mod done;
mod driver;
mod error;
mod host;
mod measurement;
mod recorder;
mod schedule;
mod slices;
mod told;

pub use done::{Counts, Done, Sent, Timed, Unit};
pub use driver::WorkerReport;
pub use error::MeasureError;
pub use host::Sample;
pub use measurement::{Measured, Measurement};
pub use recorder::{Recording, empty, encode};
pub use schedule::{Schedule, Slices};
pub use told::{Health, Interval, Listener, SliceUse};

/// Errors of units and of listeners pass through, whatever they are.
pub type Result<T> = anyhow::Result<T>;

const NS_PER_MS: u64 = 1_000_000;
