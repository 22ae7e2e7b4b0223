//! A workload's data on a server: made by several sessions at once, checked, and taken away.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;

use assay_primitives::Clock;
use assay_runtime::Worker;
use assay_wire::{Target, WireError};

use crate::client::Error;
use crate::clients::Open;

/// What a workload needs on a server.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Data: Sync {
    /// Makes empty tables; what has their names is dropped.
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error>;

    /// How many parts can be loaded at the same time.
    fn parts(&self) -> usize;

    /// How many rows there will be.
    fn rows(&self) -> u64;

    /// Loads a part and counts its rows into `rows` as it goes.
    async fn load<S: Open>(
        &self,
        session: &mut S,
        part: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error>;

    /// Makes indexes and whatever else comes after loading.
    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error>;

    /// What is wrong with the data, in words. `is_fresh`: nothing has run since loading.
    async fn check<S: Open>(&self, session: &mut S, is_fresh: bool) -> Result<Vec<String>, Error>;

    /// Takes the data away.
    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error>;
}

/// How the loading goes, for whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Rows that the server has taken.
    pub rows: AtomicU64,
}

/// Makes the data: tables, then all parts over `sessions` connections of `threads` threads, then
/// indexes.
///
/// # Errors
/// The first of any session.
pub fn prepare<S: Open, D: Data>(
    data: &D,
    target: &Target,
    threads: usize,
    sessions: usize,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<(), Error> {
    alone::<S, _>(target, stop, async |session| data.create(session).await)?;
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let here = (thread..sessions.min(data.parts())).step_by(threads).count();
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                let loaded = load_parts::<S, D>(data, target, here, next, progress, stop);
                if let (Err(error), Ok(mut failed)) = (loaded, failed.lock()) {
                    failed.get_or_insert(error);
                    // Nobody starts another part.
                    next.store(usize::MAX / 2, Ordering::Relaxed);
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().ok().flatten() {
        return Err(error);
    }
    alone::<S, _>(target, stop, async |session| data.finish(session).await)
}

/// Runs something in one session.
///
/// # Errors
/// Those of the session and of `work`.
pub fn alone<S: Open, T>(
    target: &Target,
    stop: &AtomicBool,
    work: impl AsyncFnOnce(&mut S) -> Result<T, Error>,
) -> Result<T, Error> {
    let worker = Worker::new(Clock::calibrated()).map_err(WireError::from)?;
    let handle = worker.handle();
    let task = async {
        let mut session = S::open(&handle, target).await?;
        let result = work(&mut session).await;
        session.close().await;
        result
    };
    ended(&worker, task, stop)
}

fn ended<T>(
    worker: &Worker,
    task: impl Future<Output = Result<T, Error>>,
    stop: &AtomicBool,
) -> Result<T, Error> {
    let output = worker.block_on(task, stop).map_err(WireError::from)?;
    output.unwrap_or(Err(Error::Stopped))
}

/// One thread's sessions: each takes the next part as long as there is one.
fn load_parts<S: Open, D: Data>(
    data: &D,
    target: &Target,
    sessions: usize,
    next: &AtomicUsize,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let worker = Worker::new(Clock::calibrated()).map_err(WireError::from)?;
    let handle = worker.handle();
    let session = async || {
        let mut session = S::open(&handle, target).await?;
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= data.parts() {
                break;
            }
            data.load(&mut session, part, &progress.rows).await?;
        }
        session.close().await;
        Ok(())
    };
    let all = (0..sessions).map(|_| Box::pin(session()) as Pin<Box<dyn Future<Output = _>>>);
    ended(&worker, join(all.collect()), stop)
}

type Sessions<'s> = Vec<Pin<Box<dyn Future<Output = Result<(), Error>> + 's>>>;

/// Waits for all; the first error ends it. There are few, so each is polled at every wake.
async fn join(mut all: Sessions<'_>) -> Result<(), Error> {
    poll_fn(|context| {
        let mut first = Ok(());
        all.retain_mut(|one| match one.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                if first.is_ok() {
                    first = result;
                }
                false
            }
        });
        if first.is_err() || all.is_empty() { Poll::Ready(first) } else { Poll::Pending }
    })
    .await
}
