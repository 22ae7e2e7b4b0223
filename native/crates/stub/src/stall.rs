//! A server that stops answering for a while, again and again.
//!
//! It shows whether a load generator tells the truth about latency: with 100 ms out of every second
//! without an answer, a tenth of all requests that were due then waited, 50 ms on average, whether
//! the client sent them in time or not.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::{Gate, Handle, Listener, RuntimeError, sleep_until};

use crate::{http::file_server, memcached, resp::echo, serve};

/// Who answers outside of stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// RESP.
    Resp(echo::Options),
    /// HTTP.
    Http(file_server::Options),
    /// memcached's text protocol.
    Memcached(memcached::Options),
}

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A stall is the last part of every period, counted from the start of the server.
    pub period_ms: u64,
    /// How long that part is.
    pub stall_ms: u64,
    /// Who answers outside of it.
    pub server: Server,
}

/// Serves until the worker stops, or no more connections can be accepted.
///
/// What arrives within a stall is answered at its end, in the order in which it came.
pub async fn serve(handle: Handle, listener: Listener, options: Options) -> RuntimeError {
    let stalls = Some(Rc::new(Stalls::new(&handle, options)));
    match options.server {
        Server::Resp(options) => {
            serve::accept(handle, listener, echo::service(options), stalls).await
        }
        Server::Http(options) => {
            serve::accept(handle, listener, file_server::service(options), stalls).await
        }
        Server::Memcached(options) => {
            serve::accept(handle, listener, memcached::service(options), stalls).await
        }
    }
}

/// When the stall ends in which a moment lies; none if it lies in none. All are times since the
/// start of the server, in any one unit.
pub fn stall_end(moment: u64, period: u64, stall: u64) -> Option<u64> {
    let period = period.max(1);
    let begun = moment - moment % period;
    (moment % period >= period.saturating_sub(stall)).then(|| begun.saturating_add(period))
}

/// The stalls of one server.
pub(crate) struct Stalls {
    handle: Handle,
    start: u64,
    period: u64,
    stall: u64,
    /// Where those wait who came in the stall that is now.
    gate: RefCell<Option<Rc<Gate>>>,
}

impl Stalls {
    fn new(handle: &Handle, options: Options) -> Self {
        let clock = handle.clock();
        let ticks = |ms: u64| clock.ticks_of_ns(ms.saturating_mul(1_000_000));
        Self {
            handle: handle.clone(),
            start: clock.ticks(),
            period: ticks(options.period_ms),
            stall: ticks(options.stall_ms),
            gate: RefCell::default(),
        }
    }

    /// Waits for the end of the stall, if there is one now.
    pub async fn pass(self: &Rc<Self>) {
        // Whoever comes before the gate was opened waits behind the others, even if it is time.
        let waiting = self.gate.borrow().clone();
        let gate = match waiting {
            Some(gate) => gate,
            None => {
                let now = self.handle.clock().ticks() - self.start;
                match stall_end(now, self.period, self.stall) {
                    Some(end) => self.close(end),
                    None => return,
                }
            }
        };
        gate.pass().await;
    }

    /// Lets nobody through before `end`.
    fn close(self: &Rc<Self>, end: u64) -> Rc<Gate> {
        let gate = Rc::new(Gate::new(&self.handle));
        *self.gate.borrow_mut() = Some(Rc::clone(&gate));
        let stalls = Rc::clone(self);
        self.handle.spawn(async move {
            sleep_until(&stalls.handle, stalls.start + end).await;
            if let Some(gate) = stalls.gate.take() {
                gate.open();
            }
        });
        gate
    }
}
