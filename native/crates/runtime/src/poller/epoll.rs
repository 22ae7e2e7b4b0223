//! Readiness by epoll, and a call for each piece of work.

use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::task::Poll;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net;

use crate::RuntimeError;
use crate::input::{Buffers, Input};
use crate::slab::Slab;

use super::{SourceId, TaskId};

/// Events taken from the kernel at a time.
const EVENTS: usize = 256;

/// What the kernel said about a file, and who waits for it.
#[derive(Clone, Copy, Debug)]
struct Source {
    task: Option<TaskId>,
    is_readable: bool,
    is_writable: bool,
    /// Whether the peer sends no more. No edge comes after that one.
    is_ended: bool,
}

pub struct Epoll {
    file: OwnedFd,
    sources: RefCell<Slab<Source>>,
    /// Whether the kernel has `epoll_pwait2`.
    has_nanoseconds: Cell<bool>,
}

impl Epoll {
    pub fn new() -> Result<Self, RuntimeError> {
        let file =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(RuntimeError::os("epoll_create"))?;
        Ok(Self { file, sources: RefCell::new(Slab::new()), has_nanoseconds: Cell::new(true) })
    }

    pub fn add(&self, file: BorrowedFd<'_>) -> Result<SourceId, RuntimeError> {
        // A new socket is not known to be ready; the first edge comes at once if it is.
        let source = Source { task: None, is_readable: false, is_writable: false, is_ended: false };
        let id = self.sources.borrow_mut().insert(source);
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(id as u64);
        if let Err(errno) = epoll::add(&self.file, file, data, flags) {
            self.sources.borrow_mut().remove(id);
            return Err(RuntimeError::os("epoll_ctl")(errno));
        }
        Ok(id)
    }

    pub fn close(&self, source: SourceId, file: OwnedFd) {
        self.sources.borrow_mut().remove(source);
        // Closing takes it out of epoll.
        drop(file);
    }

    pub fn poll_acceptable(&self, source: SourceId, task: TaskId) -> Poll<()> {
        // Told once per edge: who is told accepts until nobody is left.
        self.poll(source, task, |source| std::mem::take(&mut source.is_readable))
    }

    pub fn poll_connected(&self, source: SourceId, task: TaskId) -> Poll<()> {
        self.poll(source, task, |source| source.is_writable)
    }

    fn poll(
        &self,
        source: SourceId,
        task: TaskId,
        is_so: impl FnOnce(&mut Source) -> bool,
    ) -> Poll<()> {
        let known = self.with(source, |source| {
            source.task = Some(task);
            is_so(source)
        });
        if known == Some(true) { Poll::Ready(()) } else { Poll::Pending }
    }

    #[inline]
    fn with<R>(&self, id: SourceId, change: impl FnOnce(&mut Source) -> R) -> Option<R> {
        self.sources.borrow_mut().get_mut(id).map(change)
    }

    pub fn poll_read(
        &self,
        source: SourceId,
        file: BorrowedFd<'_>,
        input: &mut Input,
        buffers: &Buffers,
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        while self.poll(source, task, |source| source.is_readable).is_ready() {
            let buffer = input.with_room(buffers);
            let room = buffer.capacity() - buffer.len();
            // A short read says that the socket is empty, and the next edge will come; unless the
            // last one has told of the end already, which is read then.
            match rustix::io::read(file, rustix::buffer::spare_capacity(buffer)) {
                Ok(bytes) => {
                    if bytes < room {
                        self.with(source, |source| source.is_readable = source.is_ended);
                    }
                    return Poll::Ready(Ok(bytes));
                }
                Err(Errno::AGAIN) => {
                    self.with(source, |source| source.is_readable = false);
                    if input.bytes().is_empty() {
                        input.release(buffers);
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno)),
            }
        }
        Poll::Pending
    }

    pub fn poll_send(
        &self,
        source: SourceId,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        loop {
            // Tried without asking: a socket has room nearly always.
            match net::send(file, bytes, net::SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => {
                    self.with(source, |source| {
                        source.task = Some(task);
                        source.is_writable = false;
                    });
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    pub fn wait(&self, sleep_ns: u64, ready: &mut Vec<TaskId>) -> Result<bool, Errno> {
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let found = self.ask(sleep_ns, &mut events)?;
        let mut sources = self.sources.borrow_mut();
        for event in found {
            let Some(source) = sources.get_mut(event.data.u64() as usize) else { continue };
            let flags = event.flags;
            let is_over = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            source.is_ended |= is_over || flags.contains(epoll::EventFlags::RDHUP);
            source.is_readable |= source.is_ended || flags.contains(epoll::EventFlags::IN);
            source.is_writable |= is_over || flags.contains(epoll::EventFlags::OUT);
            ready.extend(source.task);
        }
        Ok(!found.is_empty())
    }

    /// Asks for events; by whole milliseconds, rounded down, where the kernel (before Linux 5.11) or
    /// an emulator counts in those.
    fn ask<'e>(
        &self,
        sleep_ns: u64,
        events: &'e mut [MaybeUninit<epoll::Event>],
    ) -> Result<&'e [epoll::Event], Errno> {
        if self.has_nanoseconds.get() {
            let timeout = Timespec { tv_sec: 0, tv_nsec: sleep_ns as _ };
            match epoll::wait(&self.file, &mut *events, Some(&timeout)) {
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
        let count = unsafe { libc::epoll_wait(self.file.as_raw_fd(), first, room, milliseconds) };
        if count < 0 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
        }
        // SAFETY: the kernel has filled this many.
        Ok(unsafe { events[..count as usize].assume_init_ref() })
    }
}
