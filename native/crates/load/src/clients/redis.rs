//! Single commands of Redis, as `redis-benchmark` sends them, and the keys they ask for.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_runtime::Handle;
use assay_wire::Target;
use assay_wire::resp::Session;
use assay_wire::resp::codec;
use assay_workload::random::Random;

use crate::client::{Carried, Client, Error};
use crate::refusals::Refusal;

/// Which command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a value; one that is not there is an answer like any other.
    Get,
    /// Writes a value.
    Set,
}

impl Command {
    /// The kind of operation, in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
        }
    }

    fn word(self) -> &'static [u8] {
        match self {
            Self::Get => b"GET",
            Self::Set => b"SET",
        }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Which command.
    pub command: Command,
    /// Different keys, drawn uniformly.
    pub keys: u64,
    /// Bytes of values that are written.
    pub value_bytes: usize,
    /// Commands sent in one go.
    pub pipeline: u32,
}

/// Draws of other purposes are independent of these.
const PURPOSE: u64 = 0x7265_6469_7300_0000;
/// Commands of a batch that makes or removes keys, and about the bytes that they may have.
const BATCH: u64 = 1000;
const BATCH_BYTES: u64 = 1 << 20;
/// `key:` and twelve digits, as `redis-benchmark` names keys.
const KEY_BYTES: usize = 16;

/// One connection's commands.
pub struct RedisClient {
    session: Session,
    commands: Commands,
    random: Random,
    value: Vec<u8>,
    batch: Vec<u8>,
    refusal: Option<Refusal>,
}

impl RedisClient {
    /// Connects and logs in. Connections are told apart by `number`.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub async fn open(
        handle: Handle,
        target: Target,
        commands: Commands,
        seed: u64,
        number: usize,
    ) -> Result<Self, Error> {
        let session = Session::open(&handle, &target).await?;
        let random = Random::new(seed, PURPOSE + number as u64);
        let value = vec![b'x'; commands.value_bytes];
        let batch = Vec::new();
        let mut client = Self { session, commands, random, value, batch, refusal: None };
        client.draw();
        Ok(client)
    }

    /// Encodes the next batch.
    fn draw(&mut self) {
        let Commands { command, keys, pipeline, .. } = self.commands;
        self.batch.clear();
        for _ in 0..pipeline {
            let key = key(self.random.below(keys));
            match command {
                Command::Get => codec::command(&mut self.batch, &[command.word(), &key]),
                Command::Set => {
                    codec::command(&mut self.batch, &[command.word(), &key, &self.value]);
                }
            }
        }
    }
}

/// Writes every key with its value; counts them into `rows`.
///
/// # Errors
/// Those of the session.
pub async fn load(
    handle: &Handle,
    target: &Target,
    commands: Commands,
    rows: &AtomicU64,
) -> Result<(), Error> {
    let value = vec![b'x'; commands.value_bytes];
    // A batch lies in memory, and so may its values on the server's side.
    let batch = (BATCH_BYTES / (value.len() as u64 + 1)).clamp(1, BATCH);
    each_batch(handle, target, commands.keys, batch, rows, |key, out| {
        codec::command(out, &[b"SET", key, &value]);
    })
    .await
}

/// Removes every key.
///
/// # Errors
/// Those of the session.
pub async fn remove(handle: &Handle, target: &Target, commands: Commands) -> Result<(), Error> {
    let rows = AtomicU64::new(0);
    each_batch(handle, target, commands.keys, BATCH, &rows, |key, out| {
        codec::command(out, &[b"DEL", key]);
    })
    .await
}

async fn each_batch(
    handle: &Handle,
    target: &Target,
    keys: u64,
    batch: u64,
    rows: &AtomicU64,
    command: impl Fn(&[u8], &mut Vec<u8>),
) -> Result<(), Error> {
    let (mut session, mut out) = (Session::open(handle, target).await?, Vec::new());
    let mut first = 0;
    while first < keys {
        let end = (first + batch).min(keys);
        out.clear();
        (first..end).for_each(|number| command(&key(number), &mut out));
        session.exchange(&out, (end - first) as usize, |_| ()).await?;
        rows.fetch_add(end - first, Ordering::Relaxed);
        first = end;
    }
    Ok(())
}

fn key(number: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"key:000000000000";
    let mut left = number;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    key
}

impl Client for RedisClient {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let operations = self.commands.pipeline;
        let result = self.session.exchange(&self.batch, operations as usize, |_| ()).await;
        // Of a pipeline with several errors the first is kept, and the pipeline counts once.
        self.refusal = result.err().map(Refusal::of).transpose()?;
        let is_error = self.refusal.is_some();
        if self.commands.keys > 1 {
            self.draw();
        }
        Ok(Carried { operations, is_error, ..Carried::one(0) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_twelve_digits() {
        assert_eq!(&key(0), b"key:000000000000");
        assert_eq!(&key(120_034), b"key:000000120034");
    }
}
