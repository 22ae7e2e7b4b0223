//! The loop.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use assay_primitives::Clock;
use rustix::io::Errno;

use crate::RuntimeError;
use crate::input::{BUFFER_BYTES, Buffers};
use crate::poller::{Backend, Poller, TaskId};
use crate::slab::Slab;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The future of `block_on`, which is in no slab.
const ROOT: TaskId = usize::MAX;
/// The longest sleep, so that a stop from outside is seen.
const SLEEP_NS_MAX: u64 = 20_000_000;
/// What the kernel is taken to oversleep: before it was measured, at least, and at most.
const OVERSLEEP_NS: (u64, u64, u64) = (20_000, 1_000, 50_000);
/// By how much a sleep moves that, up when it was longer, and 19 times less down when it was not:
/// about one sleep in twenty is longer than it.
const OVERSLEEP_STEP_NS: (u64, u64) = (950, 50);
pub(crate) struct Inner {
    pub poller: Poller,
    pub clock: Clock,
    pub buffers: Buffers,
    tasks: RefCell<Slab<Option<Task>>>,
    /// Tasks to be polled before the kernel is asked again.
    ready: RefCell<Vec<TaskId>>,
    timers: RefCell<BinaryHeap<Reverse<(u64, TaskId)>>>,
    pub current: Cell<TaskId>,
}

/// What tasks know their worker by. Cheap to copy; stays on its thread.
#[derive(Clone)]
pub struct Handle(pub(crate) Rc<Inner>);

impl Handle {
    /// The room of a lent buffer, in bytes.
    pub const LENT_BYTES: usize = BUFFER_BYTES;

    /// The clock that all times are ticks of.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Starts another task, which is polled soon.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let id = self.0.tasks.borrow_mut().insert(Some(Box::pin(task)));
        self.wake(id);
    }

    pub(crate) fn wake(&self, task: TaskId) {
        self.0.ready.borrow_mut().push(task);
    }

    pub(crate) fn wake_at(&self, ticks: u64) {
        self.0.timers.borrow_mut().push(Reverse((ticks, self.0.current.get())));
    }

    /// An empty buffer with room for some messages, for [`Handle::give_back`]: who waits for
    /// long should own none.
    pub fn lend(&self) -> Vec<u8> {
        self.0.buffers.lend()
    }

    /// Takes a buffer that is not needed any more. One that has grown is freed.
    pub fn give_back(&self, buffer: Vec<u8>) {
        self.0.buffers.give_back(buffer);
    }
}

/// One thread's loop and its tasks.
pub struct Worker {
    handle: Handle,
    /// What a sleep takes longer than asked, in nanoseconds.
    oversleep_ns: Cell<u64>,
    spun_ticks: Cell<u64>,
}

impl Worker {
    /// A loop without tasks, by io_uring where that can be had, by epoll elsewhere.
    ///
    /// # Errors
    /// `Os` when the kernel gives neither.
    pub fn new(clock: Clock) -> Result<Self, RuntimeError> {
        Self::with_backend(clock, Backend::IoUring)
            .or_else(|_| Self::with_backend(clock, Backend::Epoll))
    }

    /// A loop without tasks, by one of the kernel's interfaces. A worker stays on the thread that
    /// makes it.
    ///
    /// # Errors
    /// `Os` when the kernel does not have it or forbids it.
    pub fn with_backend(clock: Clock, backend: Backend) -> Result<Self, RuntimeError> {
        set_timer_slack();
        let inner = Inner {
            poller: Poller::new(backend)?,
            clock,
            buffers: Buffers::new(BUFFER_BYTES),
            tasks: RefCell::new(Slab::new()),
            ready: RefCell::default(),
            timers: RefCell::default(),
            current: Cell::new(ROOT),
        };
        Ok(Self {
            handle: Handle(Rc::new(inner)),
            oversleep_ns: Cell::new(OVERSLEEP_NS.0),
            spun_ticks: Cell::new(0),
        })
    }

    /// The kernel's interface that it uses.
    pub fn backend(&self) -> Backend {
        self.handle.0.poller.backend()
    }

    /// What tasks know this worker by.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Adds a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.handle.spawn(task);
    }

    /// Clock ticks spent looking at the clock shortly before a time, which is neither sleep nor work.
    pub fn spun_ticks(&self) -> u64 {
        self.spun_ticks.get()
    }

    /// Runs until no task is left, `until` (in ticks) has come, or `stop` is true, which is seen
    /// within 20 ms. May be called again to go on.
    ///
    /// # Errors
    /// `Os` when the kernel refuses to wait.
    pub fn run(&self, until: u64, stop: &AtomicBool) -> Result<(), RuntimeError> {
        self.run_until(until, stop, || false)
    }

    /// The same, and until `is_enough`, which is asked before the kernel is.
    ///
    /// # Errors
    /// As for [`Worker::run`].
    pub fn run_until(
        &self,
        until: u64,
        stop: &AtomicBool,
        is_enough: impl Fn() -> bool,
    ) -> Result<(), RuntimeError> {
        let is_done = || is_enough() || self.handle.0.tasks.borrow().len() == 0;
        self.turn(until, stop, is_done, &mut || {})
    }

    /// Runs a future, which may borrow, beside the tasks until it is ready; none if `stop` came
    /// first.
    ///
    /// # Errors
    /// `Os` when the kernel refuses to wait.
    pub fn block_on<F: Future>(
        &self,
        future: F,
        stop: &AtomicBool,
    ) -> Result<Option<F::Output>, RuntimeError> {
        let mut future = pin!(future);
        let output = RefCell::new(None);
        let mut poll = || {
            let mut output = output.borrow_mut();
            if output.is_none()
                && let Poll::Ready(value) =
                    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                *output = Some(value);
            }
        };
        self.handle.wake(ROOT);
        self.turn(u64::MAX, stop, || output.borrow().is_some(), &mut poll)?;
        Ok(output.into_inner())
    }

    fn turn(
        &self,
        until: u64,
        stop: &AtomicBool,
        is_done: impl Fn() -> bool,
        poll_root: &mut dyn FnMut(),
    ) -> Result<(), RuntimeError> {
        let inner = &self.handle.0;
        loop {
            self.poll_ready(poll_root);
            let now = inner.clock.ticks();
            self.wake_due(now);
            if !inner.ready.borrow().is_empty() {
                continue;
            }
            if is_done() || now >= until || stop.load(Ordering::Relaxed) {
                inner.poller.flush();
                return Ok(());
            }
            self.wait(now, until)?;
        }
    }

    fn poll_ready(&self, poll_root: &mut dyn FnMut()) {
        let inner = &self.handle.0;
        let mut batch = std::mem::take(&mut *inner.ready.borrow_mut());
        for task in batch.drain(..) {
            if task == ROOT {
                inner.current.set(ROOT);
                poll_root();
            } else {
                self.poll(task);
            }
        }
        // Keep the memory of the list.
        let mut ready = inner.ready.borrow_mut();
        batch.append(&mut ready);
        *ready = batch;
    }

    fn poll(&self, id: TaskId) {
        let inner = &self.handle.0;
        // A task that has ended meanwhile, or is polled further up.
        let Some(mut task) = inner.tasks.borrow_mut().get_mut(id).and_then(Option::take) else {
            return;
        };
        inner.current.set(id);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            inner.tasks.borrow_mut().remove(id);
            return;
        }
        if let Some(place) = inner.tasks.borrow_mut().get_mut(id) {
            *place = Some(task);
        }
    }

    fn wake_due(&self, now: u64) {
        let inner = &self.handle.0;
        let mut timers = inner.timers.borrow_mut();
        while let Some(Reverse((_, task))) = timers.peek().copied().filter(|next| next.0.0 <= now) {
            timers.pop();
            inner.ready.borrow_mut().push(task);
        }
    }

    /// Asks the kernel for news. Sleeps only until shortly before the next time, and looks without
    /// sleeping from then on.
    fn wait(&self, now: u64, until: u64) -> Result<(), RuntimeError> {
        let inner = &self.handle.0;
        let next = inner.timers.borrow().peek().map_or(u64::MAX, |next| next.0.0).min(until);
        let left_ns = inner.clock.ns_between(now, next).min(SLEEP_NS_MAX);
        let sleep_ns = left_ns.saturating_sub(self.oversleep_ns.get());
        let mut ready = inner.ready.borrow_mut();
        let has_news = match inner.poller.wait(sleep_ns, &inner.buffers, &mut ready) {
            Ok(has_news) => has_news,
            Err(Errno::INTR) => return Ok(()),
            Err(errno) => return Err(RuntimeError::os("waiting for events")(errno)),
        };
        if !has_news {
            let took = inner.clock.ticks().saturating_sub(now);
            if sleep_ns > 0 {
                self.learn(inner.clock.ns(took).saturating_sub(sleep_ns));
            } else {
                self.spun_ticks.set(self.spun_ticks.get() + took);
            }
        }
        Ok(())
    }

    fn learn(&self, overslept_ns: u64) {
        let ((_, least, most), (up, down)) = (OVERSLEEP_NS, OVERSLEEP_STEP_NS);
        let taken = self.oversleep_ns.get();
        let moved = if overslept_ns > taken { taken + up } else { taken - down };
        self.oversleep_ns.set(moved.clamp(least, most));
    }
}

impl Drop for Worker {
    /// Ends the tasks that are left. They know the worker, and would keep it and their sockets.
    fn drop(&mut self) {
        let tasks = self.handle.0.tasks.replace(Slab::new());
        // Not while the slab is borrowed: tasks may use their worker when they are dropped.
        drop(tasks);
        self.handle.0.poller.finish();
    }
}

/// Sleeps of this thread end as soon as the kernel can, not up to 50 us later, which is what it
/// allows itself to save wake-ups.
fn set_timer_slack() {
    // SAFETY: the call takes no memory. Where it is refused, sleeps are longer, and that is learnt.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
