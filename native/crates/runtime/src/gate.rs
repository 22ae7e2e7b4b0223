//! A gate that opens and closes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use crate::Handle;

/// Tasks wait before it until another opens it.
pub struct Gate {
    handle: Handle,
    is_open: Cell<bool>,
    waiting: RefCell<Vec<usize>>,
}

impl Gate {
    /// A closed gate for tasks of one worker.
    pub fn new(handle: &Handle) -> Self {
        Self { handle: handle.clone(), is_open: Cell::new(false), waiting: RefCell::default() }
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.is_open.set(true);
        self.waiting.take().into_iter().for_each(|task| self.handle.wake(task));
    }

    /// Stops whoever comes from now on.
    pub fn close(&self) {
        self.is_open.set(false);
    }

    /// Whether it lets everybody through.
    pub fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Waits until it is open.
    pub async fn pass(&self) {
        let mut is_noted = false;
        poll_fn(|_| {
            if self.is_open.get() {
                return Poll::Ready(());
            }
            if !is_noted {
                self.waiting.borrow_mut().push(self.handle.0.current.get());
                is_noted = true;
            }
            Poll::Pending
        })
        .await;
    }
}
