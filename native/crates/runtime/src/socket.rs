//! A file that a worker drives.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::Poll;

use rustix::io::Errno;

use crate::input::Input;
use crate::poller::SourceId;
use crate::{Handle, RuntimeError};

pub struct Socket {
    handle: Handle,
    file: ManuallyDrop<OwnedFd>,
    source: SourceId,
}

impl Socket {
    /// Takes over a socket that does not block.
    pub fn new(handle: &Handle, file: OwnedFd) -> Result<Self, RuntimeError> {
        let source = handle.0.poller.add(file.as_fd())?;
        Ok(Self { handle: handle.clone(), file: ManuallyDrop::new(file), source })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub fn poll_acceptable(&self) -> Poll<()> {
        let inner = &self.handle.0;
        inner.poller.poll_acceptable(self.source, self.as_fd(), inner.current.get())
    }

    pub fn poll_connected(&self) -> Poll<()> {
        let inner = &self.handle.0;
        inner.poller.poll_connected(self.source, self.as_fd(), inner.current.get())
    }

    /// Adds bytes to the input; how many, zero at the end.
    #[inline]
    pub fn poll_read(&self, input: &mut Input) -> Poll<Result<usize, Errno>> {
        let inner = &self.handle.0;
        let task = inner.current.get();
        inner.poller.poll_read(self.source, self.as_fd(), input, &inner.buffers, task)
    }

    /// Takes some of the bytes; how many.
    #[inline]
    pub fn poll_send(&self, bytes: &[u8]) -> Poll<Result<usize, Errno>> {
        let inner = &self.handle.0;
        let task = inner.current.get();
        inner.poller.poll_send(self.source, self.as_fd(), bytes, task)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: nobody sees the file after this.
        let file = unsafe { ManuallyDrop::take(&mut self.file) };
        self.handle.0.poller.close(self.source, file);
    }
}
