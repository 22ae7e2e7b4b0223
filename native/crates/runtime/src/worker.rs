//! The loop.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use assay_primitives::Clock;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::RuntimeError;
use crate::slab::Slab;

type Task = Pin<Box<dyn Future<Output = ()>>>;
type TaskId = usize;

/// The future of `block_on`, which is in no slab.
const ROOT: TaskId = usize::MAX;
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;
/// The longest sleep, so that a stop from outside is seen.
const SLEEP_NS_MAX: u64 = 20_000_000;
/// What the kernel is taken to oversleep: before it was measured, at least, and at most.
const OVERSLEEP_NS: (u64, u64, u64) = (20_000, 1_000, 50_000);
/// By how much a sleep moves that, up when it was longer, and 19 times less down when it was not:
/// about one sleep in twenty is longer than it.
const OVERSLEEP_STEP_NS: (u64, u64) = (950, 50);
/// A lent buffer's size. Larger messages make it grow.
const BUFFER_BYTES: usize = 32 * 1024;
/// Buffers kept for use, and the largest that is.
const BUFFERS_MAX: usize = 64;

/// What the kernel said about a file descriptor, and who waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub task: TaskId,
    pub is_readable: bool,
    pub is_writable: bool,
    /// Whether the peer sends no more. No edge comes after that one.
    pub is_ended: bool,
}

pub(crate) struct Inner {
    pub epoll: OwnedFd,
    pub clock: Clock,
    pub sources: RefCell<Slab<Source>>,
    tasks: RefCell<Slab<Option<Task>>>,
    /// Tasks to be polled before the kernel is asked again.
    ready: RefCell<Vec<TaskId>>,
    timers: RefCell<BinaryHeap<Reverse<(u64, TaskId)>>>,
    pub current: Cell<TaskId>,
    buffers: RefCell<Vec<Vec<u8>>>,
}

/// What tasks know their worker by. Cheap to copy; stays on its thread.
#[derive(Clone)]
pub struct Handle(pub(crate) Rc<Inner>);

impl Handle {
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

    pub(crate) fn lend(&self) -> Vec<u8> {
        let kept = self.0.buffers.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    pub(crate) fn give_back(&self, mut buffer: Vec<u8>) {
        let mut buffers = self.0.buffers.borrow_mut();
        if buffers.len() < BUFFERS_MAX && buffer.capacity() == BUFFER_BYTES {
            buffer.clear();
            buffers.push(buffer);
        }
    }
}

/// One thread's loop and its tasks.
pub struct Worker {
    handle: Handle,
    /// What a sleep takes longer than asked, in nanoseconds.
    oversleep_ns: Cell<u64>,
    spun_ticks: Cell<u64>,
    /// Whether the kernel has `epoll_pwait2`.
    has_nanoseconds: Cell<bool>,
}

impl Worker {
    /// A loop without tasks.
    ///
    /// # Errors
    /// `Os` when the kernel gives no epoll instance.
    pub fn new(clock: Clock) -> Result<Self, RuntimeError> {
        set_timer_slack();
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(RuntimeError::os("epoll_create"))?;
        let inner = Inner {
            epoll,
            clock,
            sources: RefCell::new(Slab::new()),
            tasks: RefCell::new(Slab::new()),
            ready: RefCell::default(),
            timers: RefCell::default(),
            current: Cell::new(ROOT),
            buffers: RefCell::default(),
        };
        Ok(Self {
            handle: Handle(Rc::new(inner)),
            oversleep_ns: Cell::new(OVERSLEEP_NS.0),
            spun_ticks: Cell::new(0),
            has_nanoseconds: Cell::new(true),
        })
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
        let is_done = || self.handle.0.tasks.borrow().len() == 0;
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
        let mut events = [MaybeUninit::uninit(); EVENTS];
        loop {
            self.poll_ready(poll_root);
            let now = inner.clock.ticks();
            self.wake_due(now);
            if !inner.ready.borrow().is_empty() {
                continue;
            }
            if is_done() || now >= until || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.wait(now, until, &mut events)?;
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

    /// Asks the kernel what is ready. Sleeps only until shortly before the next time, and looks
    /// without sleeping from then on.
    fn wait(
        &self,
        now: u64,
        until: u64,
        events: &mut [MaybeUninit<epoll::Event>],
    ) -> Result<(), RuntimeError> {
        let inner = &self.handle.0;
        let next = inner.timers.borrow().peek().map_or(u64::MAX, |next| next.0.0).min(until);
        let left_ns = inner.clock.ns_between(now, next).min(SLEEP_NS_MAX);
        let sleep_ns = left_ns.saturating_sub(self.oversleep_ns.get());
        let found = match self.ask(sleep_ns, events) {
            Ok(found) => found,
            Err(Errno::INTR) => return Ok(()),
            Err(errno) => return Err(RuntimeError::os("epoll_wait")(errno)),
        };
        if found.is_empty() {
            let took = inner.clock.ticks().saturating_sub(now);
            if sleep_ns > 0 {
                self.learn(inner.clock.ns(took).saturating_sub(sleep_ns));
            } else {
                self.spun_ticks.set(self.spun_ticks.get() + took);
            }
        }
        let mut sources = inner.sources.borrow_mut();
        let mut ready = inner.ready.borrow_mut();
        for event in found {
            let Some(source) = sources.get_mut(event.data.u64() as usize) else { continue };
            let flags = event.flags;
            let is_over = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            source.is_ended |= is_over || flags.contains(epoll::EventFlags::RDHUP);
            source.is_readable |= source.is_ended || flags.contains(epoll::EventFlags::IN);
            source.is_writable |= is_over || flags.contains(epoll::EventFlags::OUT);
            ready.push(source.task);
        }
        Ok(())
    }

    /// Asks for events; by whole milliseconds, rounded down, where the kernel (before Linux 5.11) or
    /// an emulator counts in those.
    fn ask<'e>(
        &self,
        sleep_ns: u64,
        events: &'e mut [MaybeUninit<epoll::Event>],
    ) -> Result<&'e [epoll::Event], Errno> {
        let epoll = &self.handle.0.epoll;
        if self.has_nanoseconds.get() {
            let timeout = Timespec { tv_sec: 0, tv_nsec: sleep_ns as _ };
            match epoll::wait(epoll, &mut *events, Some(&timeout)) {
                Err(Errno::NOSYS) => self.has_nanoseconds.set(false),
                Ok((found, _)) => {
                    let count = found.len();
                    // SAFETY: the kernel has filled this many.
                    return Ok(unsafe { events[..count].assume_init_ref() });
                }
                Err(errno) => return Err(errno),
            }
        }
        let milliseconds = (sleep_ns / 1_000_000) as libc::c_int;
        let (first, room) = (events.as_mut_ptr().cast(), events.len() as libc::c_int);
        // SAFETY: there is room for so many events, which both crates lay out as the kernel does.
        let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), first, room, milliseconds) };
        if count < 0 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
        }
        // SAFETY: the kernel has filled this many.
        Ok(unsafe { events[..count as usize].assume_init_ref() })
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
    }
}

/// Sleeps of this thread end as soon as the kernel can, not up to 50 us later, which is what it
/// allows itself to save wake-ups.
fn set_timer_slack() {
    // SAFETY: the call takes no memory. Where it is refused, sleeps are longer, and that is learnt.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

impl Inner {
    pub fn add_source(&self, file: impl AsFd) -> Result<usize, RuntimeError> {
        // A new socket is not known to be ready; the first edge comes at once if it is.
        let source = Source {
            task: self.current.get(),
            is_readable: false,
            is_writable: false,
            is_ended: false,
        };
        let id = self.sources.borrow_mut().insert(source);
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(id as u64);
        if let Err(errno) = epoll::add(&self.epoll, file, data, flags) {
            self.sources.borrow_mut().remove(id);
            return Err(RuntimeError::os("epoll_ctl")(errno));
        }
        Ok(id)
    }

    /// Changes what is known of a source; its answer.
    #[inline]
    pub fn with_source<R>(&self, id: usize, change: impl FnOnce(&mut Source) -> R) -> Option<R> {
        self.sources.borrow_mut().get_mut(id).map(change)
    }
}
