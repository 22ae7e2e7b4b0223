//! Arms that live side by side and take turns: each process measures in slices of its own.
//!
//! Every arm of a block is a process of its own with the server that it loads. All warm up at the
//! same time; then one at a time has the turn, in an order that the request fixes, while the servers
//! of the others are stopped. The processes hand the turn over on a page of shared memory (`board`).
//! In each process a conductor waits for the turn, lets the server go on (`freezer`), opens a span to
//! the workers (`spans`), and takes the host's measures at both ends. The first moments of a slice,
//! in which caches and queues fill again, are not counted.

mod board;
mod calibration;
mod conductor;
mod freezer;
mod group;
mod spans;

pub use conductor::{Conductor, Slice};
pub use spans::{Span, Spans};
