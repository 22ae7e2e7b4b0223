//! memcached's text protocol without I/O.
//!
//! Commands are encoded into a [`Batch`]. [`Scanner`] finds where replies end and whether one is a
//! hit, a miss or an error, which is all that a load generator asks of most of them; [`decode`]
//! gives a reply whole, borrowed from the input.

mod batch;
mod line;
mod reply;
mod scan;

pub use batch::{Batch, is_key, is_word};
pub(super) use reply::of_scanned;
pub use reply::{Item, Items, Reply, decode};
pub use scan::{Kind, Scanner, Step};

/// The longest line that is read, in bytes, without its end.
pub const LINE_MAX: usize = 16 * 1024;
/// The largest value that is read, in bytes: no server can be told to keep larger ones (`-I`).
pub const VALUE_MAX: u64 = 1 << 30;
/// The longest key, in bytes.
pub const KEY_MAX: usize = 250;
