//! One worker's connections.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_primitives::Clock;
use assay_runtime::{Backend, Gate, Handle, Worker, deadline, sleep_until};

use crate::arrivals::Arrivals;
use crate::client::{Client, Error, Retries};
use crate::refusals::{Refusal, Refusals};

/// One request that ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// When it was meant to be sent, in ticks; in a closed loop when its user was ready.
    pub intended: u64,
    /// When it was sent.
    pub sent: u64,
    /// When its answer was complete.
    pub end: u64,
    /// Its place in the workload's list of kinds.
    pub kind: usize,
    /// Operations that it was.
    pub operations: u32,
    /// Whether its connection was idle at the intended time, so that whatever it was sent later is
    /// the client's doing.
    pub was_idle: bool,
    /// If the server refused it for good: the place of what it said, for [`Station::refusal`].
    pub refused: Option<usize>,
}

/// What a station has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were answered.
    pub requests: u64,
    /// Operations in them.
    pub operations: u64,
    /// Tries that were rolled back because of others.
    pub retries: Retries,
    /// Requests that were rolled back as they demand.
    pub rolled_back: u64,
    /// Requests that the workload itself refused.
    pub refused: u64,
}

struct Shared {
    clock: Clock,
    handle: Handle,
    gate: Gate,
    arrivals: RefCell<Option<Arrivals>>,
    ended: RefCell<Vec<Ended>>,
    totals: Cell<Totals>,
    refusals: RefCell<Refusals>,
    failed: RefCell<Option<Error>>,
    closing: Cell<bool>,
    /// By connection: since when it waits for an answer, in ticks; 0 while it does not.
    asked_at: RefCell<Vec<u64>>,
    checked_at: Cell<u64>,
    /// Clients that are not through.
    alive: Cell<usize>,
    patience_s: u64,
}

/// One worker thread's connections and their arrivals.
pub struct Station {
    worker: Worker,
    shared: Rc<Shared>,
    stop: Rc<AtomicBool>,
}

impl Station {
    /// A station without connections. A request or a login that takes longer than `patience_s`
    /// seconds is an error.
    pub fn new(worker: Worker, patience_s: u64) -> Self {
        let handle = worker.handle();
        let shared = Shared {
            clock: handle.clock(),
            gate: Gate::new(&handle),
            handle,
            arrivals: RefCell::default(),
            ended: RefCell::default(),
            totals: Cell::default(),
            refusals: RefCell::default(),
            failed: RefCell::default(),
            closing: Cell::new(false),
            asked_at: RefCell::default(),
            checked_at: Cell::new(0),
            alive: Cell::new(0),
            patience_s,
        };
        Self { worker, shared: Rc::new(shared), stop: Rc::default() }
    }

    /// What connections are made with.
    pub fn handle(&self) -> Handle {
        self.worker.handle()
    }

    /// Adds a connection: `open` logs in and prepares.
    pub fn add<C: Client>(&self, open: impl Future<Output = Result<C, Error>> + 'static) {
        let shared = Rc::clone(&self.shared);
        let number = shared.asked_at.borrow().len();
        shared.alive.set(shared.alive.get() + 1);
        shared.asked_at.borrow_mut().push(0);
        self.worker.spawn(async move {
            let end = shared.clock.ticks() + shared.patience_ticks();
            match deadline(&shared.handle, end, open).await {
                // In a task of its own: one for logging in is larger, and is over.
                Ok(Ok(client)) => {
                    let handle = shared.handle.clone();
                    // A future has room for each place that a value is moved to: for a pointer.
                    let client = Box::new(client);
                    handle.spawn(async move { shared.end(shared.drive(number, client).await) });
                }
                Ok(Err(error)) => shared.end(Err(error)),
                Err(_) => shared.end(Err(Error::Silence { seconds: shared.patience_s })),
            }
        });
    }

    /// Adds connections and lets them log in, a few at a time: more would make a server refuse, and
    /// cost memory.
    ///
    /// # Errors
    /// The first that could not.
    pub fn connect_all<C: Client, F>(
        &self,
        opens: impl IntoIterator<Item = F>,
        stop: &AtomicBool,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<C, Error>> + 'static,
    {
        let mut opens = opens.into_iter().peekable();
        while opens.peek().is_some() && !stop.load(Ordering::Relaxed) {
            let logging_in = self.shared.alive.get() - self.shared.gate.waiting();
            let room = OPENING_MOST.saturating_sub(logging_in);
            opens.by_ref().take(room).for_each(|open| self.add(open));
            self.turn(OPENING_STEP_NS, stop)?;
            self.check()?;
        }
        self.connect(stop)
    }

    /// Lets all connections that were added log in, all at once.
    ///
    /// # Errors
    /// The first that could not.
    pub fn connect(&self, stop: &AtomicBool) -> Result<(), Error> {
        while self.shared.gate.waiting() < self.shared.alive.get() {
            self.turn(STEP_NS, stop)?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        self.check()
    }

    /// Opens the gate: requests are sent from now on, at `arrivals` or, without, in a closed loop.
    pub fn start(&self, arrivals: Option<Arrivals>) {
        *self.shared.arrivals.borrow_mut() = arrivals;
        self.shared.gate.open();
    }

    /// Lets every connection end its request, and sends none until `start` is called again.
    ///
    /// # Errors
    /// A connection that failed, or whose answer did not come.
    pub fn hold(&self, stop: &AtomicBool) -> Result<(), Error> {
        self.shared.gate.close();
        while self.shared.is_asking() && !stop.load(Ordering::Relaxed) {
            self.turn(HOLDING_STEP_NS, stop)?;
            self.check()?;
        }
        self.shared.ended.borrow_mut().clear();
        Ok(())
    }

    /// Works for some nanoseconds, or until `stop`, and gives what ended to `visit`, in the order
    /// of the ends.
    ///
    /// # Errors
    /// The first connection that failed; what ended before is visited first.
    pub fn run(
        &self,
        nanoseconds: u64,
        stop: &AtomicBool,
        mut visit: impl FnMut(&Ended),
    ) -> Result<(), Error> {
        let clock = self.shared.clock;
        let until = clock.ticks() + clock.ticks_of_ns(nanoseconds);
        while clock.ticks() < until && !stop.load(Ordering::Relaxed) {
            self.run_some(clock.ns_between(clock.ticks(), until), stop, &mut visit)?;
        }
        Ok(())
    }

    /// The same, but until a few requests have ended at the latest: whoever records them all at once
    /// makes others wait that are due meanwhile.
    ///
    /// # Errors
    /// As for [`Station::run`].
    pub fn run_some(
        &self,
        nanoseconds: u64,
        stop: &AtomicBool,
        mut visit: impl FnMut(&Ended),
    ) -> Result<(), Error> {
        let clock = self.shared.clock;
        let until = clock.ticks() + clock.ticks_of_ns(nanoseconds);
        let is_enough = || self.shared.ended.borrow().len() >= SOME;
        let turned = self.worker.run_until(until, stop, is_enough);
        self.shared.ended.borrow_mut().drain(..).for_each(|ended| visit(&ended));
        turned.map_err(|error| Error::Wire(error.into()))?;
        self.check()
    }

    /// The kernel's interface that it uses.
    pub fn backend(&self) -> Backend {
        self.worker.backend()
    }

    /// Lets every connection end its request and say goodbye, for a second at most.
    pub fn close(&self) {
        self.shared.closing.set(true);
        self.shared.gate.open();
        // Whoever is not through by then is cut off.
        let _ = self.turn(CLOSING_NS, &self.stop);
    }

    /// What was counted so far.
    pub fn totals(&self) -> Totals {
        self.shared.totals.get()
    }

    /// What the server said to the first request that it refused with a code.
    pub fn refusal(&self, place: usize) -> Option<Refusal> {
        self.shared.refusals.borrow().get().get(place).cloned()
    }

    /// Nanoseconds that went into looking at the clock for the next time to send: CPU time that
    /// is not work.
    pub fn spun_ns(&self) -> u64 {
        self.shared.clock.ns(self.worker.spun_ticks())
    }

    /// How many connections work.
    pub fn alive(&self) -> usize {
        self.shared.alive.get()
    }

    fn turn(&self, nanoseconds: u64, stop: &AtomicBool) -> Result<(), Error> {
        let clock = self.shared.clock;
        let until = clock.ticks() + clock.ticks_of_ns(nanoseconds);
        self.worker.run(until, stop).map_err(|error| Error::Wire(error.into()))
    }

    fn check(&self) -> Result<(), Error> {
        self.shared.look_for_silence();
        self.shared.failed.borrow_mut().take().map_or(Ok(()), Err)
    }
}

/// Ends that are given away together: to record them takes as long as one call of the kernel.
const SOME: usize = 64;
const STEP_NS: u64 = 10_000_000;
/// Connections that log in at the same time: fewer than a server lets wait to be accepted.
const OPENING_MOST: usize = 100;
const OPENING_STEP_NS: u64 = 1_000_000;
const CLOSING_NS: u64 = 1_000_000_000;
/// Answers that are waited for come within a slice's drain, which nobody measures.
const HOLDING_STEP_NS: u64 = 100_000;

impl Shared {
    fn patience_ticks(&self) -> u64 {
        self.clock.ticks_of_ns(self.patience_s * 1_000_000_000)
    }

    /// Whether any connection waits for an answer.
    fn is_asking(&self) -> bool {
        self.asked_at.borrow().iter().any(|at| *at > 0)
    }

    /// Once a second: has anybody waited for an answer for too long?
    fn look_for_silence(&self) {
        let now = self.clock.ticks();
        if now.saturating_sub(self.checked_at.get()) < self.clock.hz() {
            return;
        }
        self.checked_at.set(now);
        let asked_at = self.asked_at.borrow();
        let oldest = asked_at.iter().copied().filter(|at| *at > 0).min();
        if oldest.is_some_and(|at| now.saturating_sub(at) > self.patience_ticks()) {
            let silence = Error::Silence { seconds: self.patience_s };
            self.failed.borrow_mut().get_or_insert(silence);
        }
    }

    /// Notes how a client ended.
    fn end(&self, result: Result<(), Error>) {
        self.alive.set(self.alive.get() - 1);
        if let Err(error) = result {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    async fn drive<C: Client>(&self, number: usize, mut client: Box<C>) -> Result<(), Error> {
        let mut has_asked = false;
        while !self.closing.get() {
            if has_asked && !self.gate.is_open() {
                client.rest();
            }
            self.gate.pass().await;
            has_asked = true;
            let idle_since = self.clock.ticks();
            let intended = self.next(idle_since, &mut *client).await;
            if self.closing.get() {
                break;
            }
            if !self.gate.is_open() {
                // Its time came while nothing may be sent: another is drawn when that is over.
                continue;
            }
            let sent = self.clock.ticks();
            // Whose user was ready already has asked now.
            let intended = intended.unwrap_or(sent);
            self.asked_at.borrow_mut()[number] = sent;
            let carried = client.carry_out().await?;
            let end = self.clock.ticks();
            self.asked_at.borrow_mut()[number] = 0;
            let refused = carried.is_error.then(|| {
                let refusal = client.take_refusal().unwrap_or_else(Refusal::without_words);
                self.refusals.borrow_mut().place(refusal)
            });
            let ended = Ended {
                intended,
                sent,
                end,
                kind: carried.kind,
                operations: carried.operations,
                was_idle: idle_since <= intended,
                refused,
            };
            self.ended.borrow_mut().push(ended);
            let mut totals = self.totals.get();
            totals.requests += 1;
            totals.operations += u64::from(carried.operations);
            totals.retries.add(carried.retries);
            totals.rolled_back += u64::from(carried.is_rolled_back);
            totals.refused += u64::from(carried.is_refused);
            self.totals.set(totals);
            client.prepare();
        }
        Box::pin(client.close()).await;
        Ok(())
    }

    /// Waits until the next request is to be sent; when that was meant to be, if not at once.
    async fn next<C: Client>(&self, now: u64, client: &mut C) -> Option<u64> {
        let drawn = self.arrivals.borrow_mut().as_mut().map(Arrivals::take);
        let at = match drawn {
            Some(at) => at,
            None => {
                let wait_ns = client.wait_ns();
                if wait_ns == 0 {
                    return None;
                }
                now + self.clock.ticks_of_ns(wait_ns)
            }
        };
        sleep_until(&self.handle, at).await;
        Some(at)
    }
}
