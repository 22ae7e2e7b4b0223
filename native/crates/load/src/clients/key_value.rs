//! Single commands of servers of keys and values, as `redis-benchmark` sends them, and the keys they
//! ask for.

use assay_random::Random;
use assay_runtime::Handle;
use assay_wire::{Target, WireError};

use crate::client::{Carried, Client, Error};
use crate::key_value::{KeyValue, count_missing, faults_of, write};
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
/// `key:` and twelve digits, as `redis-benchmark` names keys.
const KEY_BYTES: usize = 16;

/// One connection's commands.
pub struct KeyValueClient<S: KeyValue> {
    session: S,
    commands: Commands,
    random: Random,
    value: Vec<u8>,
    batch: S::Batch,
    refusal: Option<Refusal>,
}

impl<S: KeyValue> KeyValueClient<S> {
    /// Connects and logs in. Connections are told apart by `number`.
    ///
    /// # Errors
    /// Those of [`KeyValue::open`].
    pub async fn open(
        handle: Handle,
        target: Target,
        commands: Commands,
        seed: u64,
        number: usize,
    ) -> Result<Self, Error> {
        let session = S::open(&handle, &target).await?;
        let random = Random::new(seed, PURPOSE + number as u64);
        let value = vec![b'x'; commands.value_bytes];
        let batch = S::Batch::default();
        let mut client = Self { session, commands, random, value, batch, refusal: None };
        client.encode();
        Ok(client)
    }

    /// Encodes the next batch.
    fn encode(&mut self) {
        let Commands { command, keys, pipeline, .. } = self.commands;
        S::clear(&mut self.batch);
        for _ in 0..pipeline {
            let key = key(self.random.below(keys));
            match command {
                Command::Get => S::get(&mut self.batch, &key),
                Command::Set => S::set(&mut self.batch, &key, &self.value),
            }
        }
    }
}

/// Writes every key with its value; what is wrong with them then.
///
/// # Errors
/// Those of the session.
pub async fn load<S: KeyValue>(
    session: &mut S,
    commands: Commands,
) -> Result<Vec<String>, WireError> {
    let value = vec![b'x'; commands.value_bytes];
    let set = |batch: &mut S::Batch, number| S::set(batch, &key(number), &value);
    write(session, value.len(), 0..commands.keys, set).await?;
    check(session, commands).await
}

/// What is wrong with the keys: which of them are not there.
///
/// # Errors
/// Those of the session.
pub async fn check<S: KeyValue>(
    session: &mut S,
    commands: Commands,
) -> Result<Vec<String>, WireError> {
    let missing = count_missing(session, (0..commands.keys).map(key)).await?;
    Ok(faults_of(missing, commands.keys))
}

/// Removes every key.
///
/// # Errors
/// Those of the session.
pub async fn remove<S: KeyValue>(session: &mut S, commands: Commands) -> Result<(), WireError> {
    let delete = |batch: &mut S::Batch, number| S::delete(batch, &key(number));
    write(session, 0, 0..commands.keys, delete).await
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

impl<S: KeyValue> Client for KeyValueClient<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let operations = self.commands.pipeline;
        let result = self.session.exchange(&self.batch).await;
        // Of a pipeline with several errors the first is kept, and the pipeline counts once.
        self.refusal = result.err().map(Refusal::of).transpose()?;
        let is_error = self.refusal.is_some();
        Ok(Carried { operations, is_error, ..Carried::one(0) })
    }

    fn prepare(&mut self) {
        if self.commands.keys > 1 {
            self.encode();
        }
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
