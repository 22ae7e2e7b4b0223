//! What asks the kernel: which of two interfaces, and what both do.

mod buffer_ring;
mod epoll;
mod uring;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::Poll;

use rustix::io::Errno;

use crate::RuntimeError;
use crate::input::{Buffers, Input};

use self::epoll::Epoll;
use self::uring::Uring;

pub type TaskId = usize;
pub type SourceId = usize;

/// The kernel's interface that a worker uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// epoll(7), edge-triggered, with a call for each `read` and `send`.
    Epoll,
    /// `io_uring(7)` with deferred work: one call takes all sends and brings all bytes. Linux 6.1,
    /// where it is not forbidden.
    IoUring,
}

impl Backend {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}

/// Sources, and what the kernel says of them. Whoever asks for something that is not so yet is
/// woken when it may be.
pub enum Poller {
    Epoll(Epoll),
    Uring(Box<Uring>),
}

impl Poller {
    pub fn new(backend: Backend) -> Result<Self, RuntimeError> {
        Ok(match backend {
            Backend::Epoll => Self::Epoll(Epoll::new()?),
            Backend::IoUring => Self::Uring(Box::new(Uring::new()?)),
        })
    }

    pub fn backend(&self) -> Backend {
        match self {
            Self::Epoll(_) => Backend::Epoll,
            Self::Uring(_) => Backend::IoUring,
        }
    }

    pub fn add(&self, file: BorrowedFd<'_>) -> Result<SourceId, RuntimeError> {
        match self {
            Self::Epoll(epoll) => epoll.add(file),
            Self::Uring(uring) => Ok(uring.add(file)),
        }
    }

    /// Closes a file when what was sent is with the kernel.
    pub fn close(&self, source: SourceId, file: OwnedFd) {
        match self {
            Self::Epoll(epoll) => epoll.close(source, file),
            Self::Uring(uring) => uring.close(source, file),
        }
    }

    /// Whether somebody may want to be accepted.
    pub fn poll_acceptable(
        &self,
        source: SourceId,
        file: BorrowedFd<'_>,
        task: TaskId,
    ) -> Poll<()> {
        match self {
            Self::Epoll(epoll) => epoll.poll_acceptable(source, task),
            Self::Uring(uring) => uring.poll_events(source, file, libc::POLLIN, task),
        }
    }

    /// Whether connecting has ended.
    pub fn poll_connected(&self, source: SourceId, file: BorrowedFd<'_>, task: TaskId) -> Poll<()> {
        match self {
            Self::Epoll(epoll) => epoll.poll_connected(source, task),
            Self::Uring(uring) => uring.poll_events(source, file, libc::POLLOUT, task),
        }
    }

    /// Adds bytes to the input; how many, zero at the end.
    #[inline]
    pub fn poll_read(
        &self,
        source: SourceId,
        file: BorrowedFd<'_>,
        input: &mut Input,
        buffers: &Buffers,
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        match self {
            Self::Epoll(epoll) => epoll.poll_read(source, file, input, buffers, task),
            Self::Uring(uring) => uring.poll_read(source, file, input, buffers, task),
        }
    }

    /// Takes some of the bytes; how many.
    #[inline]
    pub fn poll_send(
        &self,
        source: SourceId,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        match self {
            Self::Epoll(epoll) => epoll.poll_send(source, file, bytes, task),
            Self::Uring(uring) => uring.poll_send(source, bytes, task),
        }
    }

    /// Hands over what there is to do, waits for news, and adds who has any to `ready`; false if
    /// there were none.
    pub fn wait(
        &self,
        sleep_ns: u64,
        buffers: &Buffers,
        ready: &mut Vec<TaskId>,
    ) -> Result<bool, Errno> {
        match self {
            Self::Epoll(epoll) => epoll.wait(sleep_ns, ready),
            Self::Uring(uring) => uring.wait(sleep_ns, buffers, ready),
        }
    }

    /// Hands over what there is to do, without waiting.
    pub fn flush(&self) {
        if let Self::Uring(uring) = self {
            uring.flush();
        }
    }

    /// Ends whatever is under way.
    pub fn finish(&self) {
        if let Self::Uring(uring) = self {
            uring.finish();
        }
    }
}
