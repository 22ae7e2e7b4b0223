//! One thread's event loop: tasks, timers and connections.
//!
//! A worker is one thread with one loop and no locks. A connection is driven by one task, a future
//! that is polled when its socket became ready or its time has come, and that never moves to
//! another thread. There is no waker and no queue between threads: a future of this crate that has
//! to wait leaves a note with the loop (a source or a time) and is polled again when that happens.
//! Only futures of this crate may wait; spurious polls are always allowed.
//!
//! ```no_run
//! use assay_primitives::Clock;
//! use assay_runtime::{Address, Connection, Worker};
//!
//! let worker = Worker::new(Clock::calibrated())?;
//! let handle = worker.handle();
//! worker.spawn(async move {
//!     let address = Address::tcp("127.0.0.1", 6379).expect("an address");
//!     let mut connection = Connection::open(&handle, &address).await.expect("a server");
//!     connection.send(b"PING\r\n").await.expect("a peer");
//!     while connection.input().len() < 7 {
//!         connection.more().await.expect("an answer");
//!     }
//! });
//! worker.run(u64::MAX, &std::sync::atomic::AtomicBool::new(false))?;
//! # Ok::<(), assay_runtime::RuntimeError>(())
//! ```
//!
//! Memory: a connection that waits for an answer owns no buffer; one is lent to it while bytes lie
//! in it. Sources: `io_uring(7)`, whose deferred work needs Linux 6.1, and epoll(7) elsewhere.

mod address;
mod connection;
mod error;
mod gate;
mod input;
mod listener;
mod poller;
mod slab;
mod socket;
mod time;
mod tls;
mod trust;
mod worker;

pub use address::Address;
pub use connection::{Connection, Traffic};
pub use error::RuntimeError;
pub use gate::Gate;
pub use listener::Listener;
pub use poller::Backend;
pub use time::{Elapsed, deadline, sleep_until};
pub use trust::{Proof, TlsConfig};
pub use worker::{Handle, Worker};
