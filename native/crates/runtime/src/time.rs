//! Waiting for a time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::Handle;

/// Waits until the clock says `ticks` or later.
pub async fn sleep_until(handle: &Handle, ticks: u64) {
    let mut is_noted = false;
    poll_fn(|_| {
        if handle.clock().ticks() >= ticks {
            return Poll::Ready(());
        }
        if !is_noted {
            handle.wake_at(ticks);
            is_noted = true;
        }
        Poll::Pending
    })
    .await;
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer in time")]
pub struct Elapsed;

/// Gives a future until `ticks`; then drops it.
///
/// # Errors
/// `Elapsed` when it was not ready by then.
pub async fn deadline<F: Future>(
    handle: &Handle,
    ticks: u64,
    future: F,
) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut end = pin!(sleep_until(handle, ticks));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        end.as_mut().poll(context).map(|()| Err(Elapsed))
    })
    .await
}
