//! The thread of mode `asynchronous`: makes durable what there is, then pauses.
//!
//! It is a leader like any other, so that commits, `flush` and the thread need no second protocol.
//! Its own lock only serves to end its pause early.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::group::Core;

/// Runs until it is dropped, or until the log fails.
pub(crate) struct Flusher {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    pub(crate) fn start(core: Arc<Core>, pause: Duration) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("log-flusher".to_owned())
            .spawn(move || run(&core, pause, &told))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        *self.stop.0.lock().expect(UNPOISONED) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the flusher must not become an abort while another one unwinds.
            let _ = thread.join();
        }
    }
}

const UNPOISONED: &str = "no thread panics while it holds the flusher's lock";

fn run(core: &Core, pause: Duration, (stop, told): &(Mutex<bool>, Condvar)) {
    loop {
        let stopping = stop.lock().expect(UNPOISONED);
        let stopping = told.wait_timeout_while(stopping, pause, |stop| !*stop).expect(UNPOISONED);
        if *stopping.0 {
            return;
        }
        drop(stopping);
        // The log remembers the failure and tells the next commit.
        if core.wait(core.appended()).is_err() {
            return;
        }
    }
}
