//! The end of what a process wrote: all of it is read, the last part is kept.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

const PIECE: usize = 1 << 16;

/// A pipe's reading end, and what came through it.
pub struct Tail {
    pipe: Option<File>,
    most: usize,
    kept: Vec<u8>,
    piece: Vec<u8>,
    bytes: u64,
}

impl Tail {
    /// Of a pipe, of which at most `most` bytes are kept.
    pub fn of(pipe: OwnedFd, most: usize) -> Self {
        // SAFETY: the descriptor is open, for we own it; the call touches no memory.
        unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        let (kept, piece) = (Vec::new(), vec![0; PIECE]);
        Self { pipe: Some(File::from(pipe)), most, kept, piece, bytes: 0 }
    }

    /// What to poll; -1, which poll passes over, once it is at its end.
    pub fn fd(&self) -> RawFd {
        self.pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Reads what is there, at most a few pieces: who writes without end must not hold up the rest.
    pub fn read(&mut self) {
        for _ in 0..16 {
            let Some(pipe) = self.pipe.as_mut() else { return };
            match pipe.read(&mut self.piece) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    self.bytes += n as u64;
                    self.kept.extend_from_slice(&self.piece[..n]);
                    if self.kept.len() > 2 * self.most {
                        self.kept.drain(..self.kept.len() - self.most);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    /// How much came in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The last of it, as text.
    pub fn text(&self) -> String {
        let from = self.kept.len().saturating_sub(self.most);
        String::from_utf8_lossy(&self.kept[from..]).into_owned()
    }
}
