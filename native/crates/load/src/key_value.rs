//! Servers of keys and values, whatever they speak.

use assay_runtime::Handle;
use assay_wire::memcached::codec::{Batch, Kind};
use assay_wire::resp::codec::{self, Reply};
use assay_wire::{Target, WireError, memcached, resp};

/// Keys that are written, removed or counted in one go, and about the bytes that their values may
/// have: a batch lies in memory, and so may its values on the server's side.
const BATCH: usize = 1000;
const BATCH_BYTES: usize = 1 << 20;

/// A session with a server of keys and values.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait KeyValue: Sized + 'static {
    /// Commands that go out together.
    type Batch: Default;

    /// Connects and logs in.
    ///
    /// # Errors
    /// Those of the protocol's session.
    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError>;

    /// Takes all commands out.
    fn clear(batch: &mut Self::Batch);

    /// Appends what reads a value.
    fn get(batch: &mut Self::Batch, key: &[u8]);

    /// Appends what writes a value.
    fn set(batch: &mut Self::Batch, key: &[u8], value: &[u8]);

    /// Appends what removes a key.
    fn delete(batch: &mut Self::Batch, key: &[u8]);

    /// Appends what asks whether a key is there.
    fn look_for(batch: &mut Self::Batch, key: &[u8]);

    /// Carries commands out, without looking at what they return.
    ///
    /// # Errors
    /// Those of the session; `Server` once every reply was read, with the first that is an error.
    async fn exchange(&mut self, batch: &Self::Batch) -> Result<(), WireError>;

    /// Carries out commands of [`KeyValue::look_for`]: how many of their keys are there.
    ///
    /// # Errors
    /// As for [`KeyValue::exchange`].
    async fn count(&mut self, batch: &Self::Batch) -> Result<u64, WireError>;
}

/// Commands of RESP.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    /// The commands.
    pub bytes: Vec<u8>,
    /// How many they are.
    pub commands: usize,
}

impl Pipeline {
    fn add(&mut self, parts: &[&[u8]]) {
        codec::command(&mut self.bytes, parts);
        self.commands += 1;
    }
}

impl KeyValue for resp::Session {
    type Batch = Pipeline;

    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        resp::Session::open(handle, target).await
    }

    fn clear(batch: &mut Pipeline) {
        batch.bytes.clear();
        batch.commands = 0;
    }

    fn get(batch: &mut Pipeline, key: &[u8]) {
        batch.add(&[b"GET", key]);
    }

    fn set(batch: &mut Pipeline, key: &[u8], value: &[u8]) {
        batch.add(&[b"SET", key, value]);
    }

    fn delete(batch: &mut Pipeline, key: &[u8]) {
        batch.add(&[b"DEL", key]);
    }

    fn look_for(batch: &mut Pipeline, key: &[u8]) {
        batch.add(&[b"EXISTS", key]);
    }

    async fn exchange(&mut self, batch: &Pipeline) -> Result<(), WireError> {
        resp::Session::exchange(self, &batch.bytes, batch.commands, |_| ()).await
    }

    async fn count(&mut self, batch: &Pipeline) -> Result<u64, WireError> {
        let mut count = 0;
        let visit = |reply: &Reply<'_>| {
            count += u64::from(*reply == Reply::Integer(1));
            Ok(())
        };
        self.run(&batch.bytes, batch.commands, visit).await?;
        Ok(count)
    }
}

impl KeyValue for memcached::Session {
    type Batch = Batch;

    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        memcached::Session::open(handle, target).await
    }

    fn clear(batch: &mut Batch) {
        batch.clear();
    }

    fn get(batch: &mut Batch, key: &[u8]) {
        batch.get(key);
    }

    fn set(batch: &mut Batch, key: &[u8], value: &[u8]) {
        batch.set(key, value);
    }

    fn delete(batch: &mut Batch, key: &[u8]) {
        batch.delete(key);
    }

    fn look_for(batch: &mut Batch, key: &[u8]) {
        batch.get(key);
    }

    async fn exchange(&mut self, batch: &Batch) -> Result<(), WireError> {
        memcached::Session::exchange(self, batch, |_| ()).await
    }

    async fn count(&mut self, batch: &Batch) -> Result<u64, WireError> {
        let mut count = 0;
        let hear = |kind| count += u64::from(kind == Kind::Done);
        memcached::Session::exchange(self, batch, hear).await?;
        Ok(count)
    }
}

/// Writes keys by batches, with values of about so many bytes; `append` gives each its command.
///
/// # Errors
/// Those of the session.
pub async fn write<S: KeyValue, K>(
    session: &mut S,
    value_bytes: usize,
    keys: impl Iterator<Item = K>,
    append: impl Fn(&mut S::Batch, K),
) -> Result<(), WireError> {
    let per_batch = (BATCH_BYTES / value_bytes.max(1)).clamp(1, BATCH);
    let (mut batch, mut keys) = (S::Batch::default(), keys.peekable());
    while keys.peek().is_some() {
        S::clear(&mut batch);
        keys.by_ref().take(per_batch).for_each(|key| append(&mut batch, key));
        session.exchange(&batch).await?;
    }
    Ok(())
}

/// How many keys are not there.
///
/// # Errors
/// Those of the session.
pub async fn count_missing<S: KeyValue, K: AsRef<[u8]>>(
    session: &mut S,
    keys: impl Iterator<Item = K>,
) -> Result<u64, WireError> {
    let (mut batch, mut keys, mut missing) = (S::Batch::default(), keys.peekable(), 0);
    while keys.peek().is_some() {
        S::clear(&mut batch);
        let mut asked = 0;
        for key in keys.by_ref().take(BATCH) {
            S::look_for(&mut batch, key.as_ref());
            asked += 1;
        }
        missing += asked - session.count(&batch).await?;
    }
    Ok(missing)
}

/// What is wrong with keys of which some are not there, as a list of faults.
pub fn faults_of(missing: u64, keys: u64) -> Vec<String> {
    let why = "not loaded, or evicted since: give the server more memory, or load less";
    let fault = || format!("{missing} of {keys} keys are not there: {why}");
    (missing > 0).then(fault).into_iter().collect()
}
