//! When to stop: SIGTERM, SIGINT, or the death of the parent.
//!
//! A run that is told to stop still writes its result, marked incomplete, so all three only set a
//! flag. The kernel sends SIGTERM when the thread that started this process ends
//! (PR_SET_PDEATHSIG): a driver must not start it from a thread that it lets end.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    // A store to an atomic is async-signal-safe.
    request_stop();
}

/// Ends the run early.
pub fn request_stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// Arranges for all three. Called first, so that a parent that dies later is noticed; one that died
/// between the two looks at the parent's id is noticed too.
pub fn begin() {
    let handler: extern "C" fn(libc::c_int) = on_signal;
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    // SAFETY: neither call touches memory of ours.
    let parent_changed = unsafe {
        let before = libc::getppid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        libc::getppid() != before
    };
    if parent_changed {
        request_stop();
    }
}

/// The flag that ends a run. Written once, so reading it in a loop costs nothing.
pub fn stop_flag() -> &'static AtomicBool {
    &STOP
}
