//! RESP without I/O.
//!
//! Commands are encoded into the caller's memory. Replies are read in one of two ways: [`decode`]
//! gives a reply whole, borrowed from the input; [`Scanner`] only finds where replies end, and
//! whether one is an error or null, which is all that a load generator asks of most of them.

mod encode;
mod reply;
mod scan;

pub use encode::{bulk, command, start};
pub use reply::{DEPTH_MAX, Items, Reply, decode};
pub use scan::{Kind, Scanner, Step};

/// The longest line (a simple string, an error, a number) and bulk error that is read, in bytes.
pub const LINE_MAX: usize = 64 * 1024;
