//! A hash or a cipher over a buffer, each value compared with the first.

use assay_primitives::hashes::{self, Hash};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Called};
use serde_json::{Value, json};

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{BufferWorkload, MicroRequest};

/// No hash is faster.
const BYTES_PER_NS: f64 = 100.0;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &BufferWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let bytes = workload.buffer_bytes;
    Buffers::check(bytes)?;
    frame::run(request, output, |run| {
        let buffers = Buffers::new(&[bytes], run, request.parts.pages)?;
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
    fn least_ns(&self) -> f64 {
        self.bytes as f64 / BYTES_PER_NS
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"hash": self.hash.name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        self.buffers.obtained()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let buffer = self.buffers.filled(thread, self.bytes)?;
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
