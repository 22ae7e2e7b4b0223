//! A hash or a cipher over a buffer, each value compared with the first.

use assay_primitives::hashes::{self, Hash};
use assay_primitives::{Address, Arena, Called};
use serde_json::Value;

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{BufferWorkload, MicroRequest};

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &BufferWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let bytes = workload.buffer_bytes;
    Buffers::check(bytes)?;
    frame::run(request, output, |schedule| {
        let pages = request.parts.pages;
        let buffers = Buffers::new(&[bytes], schedule.threads, schedule.seed, pages)?;
        let hash = request.parts.hash;
        let function = Called::new(hashes::function(hash));
        Ok(HashKind { hash, function, bytes, buffers })
    })
}

struct HashKind {
    hash: Hash,
    function: Called<hashes::Function>,
    bytes: usize,
    buffers: Buffers,
}

impl Kind for HashKind {
    const NAME: &'static str = "hash";
    const TIMED: u64 = 1;

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Vec<(&'static str, Value)> {
        vec![("hash", self.hash.name().into())]
    }

    fn arena(&self) -> &Arena {
        self.buffers.arena()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let mut random = self.buffers.random(thread);
        let buffer = self.buffers.zeroed(self.bytes)?;
        buffer.fill_with(|| random.bits() as u8);
        let function = self.function;
        let mut share = HashShare { function, buffer, expected: [0; 2], turn: 0 };
        // A cipher gives back at every second turn what was there.
        share.expected = [share.once(), share.once()];
        Ok(Box::new(share))
    }
}

struct HashShare<'a> {
    function: Called<hashes::Function>,
    buffer: &'a mut [u8],
    expected: [u64; 2],
    turn: usize,
}

impl HashShare<'_> {
    fn once(&mut self) -> u64 {
        // SAFETY: the buffer is this thread's own.
        unsafe { (self.function.function())(self.buffer.as_mut_ptr(), self.buffer.len()) }
    }
}

impl Share for HashShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        let mut is_right = true;
        for _ in 0..times {
            is_right &= self.once() == self.expected[self.turn];
            self.turn = 1 - self.turn;
        }
        is_right
    }
}
