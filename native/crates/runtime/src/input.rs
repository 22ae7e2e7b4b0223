//! What was received and not consumed, in memory that is lent.

use std::cell::RefCell;

/// The size of what connections read into. Larger messages make it grow.
pub const BUFFER_BYTES: usize = 32 * 1024;
/// Buffers kept for use.
const BUFFERS_MAX: usize = 64;

/// Buffers of one size that nobody uses just now.
pub struct Buffers {
    bytes: usize,
    kept: RefCell<Vec<Vec<u8>>>,
}

impl Buffers {
    pub fn new(bytes: usize) -> Self {
        Self { bytes, kept: RefCell::default() }
    }

    pub fn lend(&self) -> Vec<u8> {
        let kept = self.kept.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(self.bytes))
    }

    pub fn give_back(&self, mut buffer: Vec<u8>) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() < BUFFERS_MAX && buffer.capacity() == self.bytes {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

/// Bytes of a connection. Without any it owns no memory.
#[derive(Default)]
pub struct Input {
    buffer: Vec<u8>,
    /// Bytes of the buffer that are consumed.
    start: usize,
}

impl Input {
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// # Panics
    /// When there are fewer bytes.
    #[inline]
    pub fn consume(&mut self, bytes: usize, buffers: &Buffers) {
        assert!(bytes <= self.buffer.len() - self.start, "only what was received can be consumed");
        self.start += bytes;
        if self.start == self.buffer.len() {
            self.release(buffers);
        }
    }

    /// Adds bytes in a lent buffer, which becomes its own if it has no others.
    pub fn take(&mut self, received: Vec<u8>, buffers: &Buffers) {
        if self.bytes().is_empty() {
            self.release(buffers);
            self.buffer = received;
        } else {
            self.with_room(buffers).extend_from_slice(&received);
            buffers.give_back(received);
        }
    }

    /// Gives its memory back and forgets what is in it.
    pub fn release(&mut self, buffers: &Buffers) {
        self.start = 0;
        if self.buffer.capacity() > 0 {
            buffers.give_back(std::mem::take(&mut self.buffer));
        }
    }

    /// The buffer, with room for more: a lent one, the space of what was consumed, or a larger one.
    pub fn with_room(&mut self, buffers: &Buffers) -> &mut Vec<u8> {
        if self.buffer.capacity() == 0 {
            self.buffer = buffers.lend();
        }
        if self.start > 0 && self.start * 2 >= self.buffer.len() {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.len() * 4 >= self.buffer.capacity() * 3 {
            self.buffer.reserve(self.buffer.capacity());
        }
        &mut self.buffer
    }
}
