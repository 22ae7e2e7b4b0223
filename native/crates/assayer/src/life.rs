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

/// What is told when a library ends the process: builds with assertions do, where a device is full or
/// data are damaged.
const ABORTED: &[u8] = b"{\"type\":\"error\",\"data\":{\"kind\":\"failed\",\"message\":\"the library \
ended the process: its assertion is on standard error\",\"next\":\"look whether the device is full; \
else prepare the data anew\"}}\n";

extern "C" fn on_abort(_: libc::c_int) {
    // SAFETY: both calls are async-signal-safe, and the text is as long as said. Who does not read it
    // has the exit code.
    unsafe {
        libc::write(libc::STDOUT_FILENO, ABORTED.as_ptr().cast(), ABORTED.len());
        libc::_exit(1);
    }
}

/// Arranges for an `error` line when a library that was loaded aborts.
pub fn tell_aborts() {
    let handler: extern "C" fn(libc::c_int) = on_abort;
    // SAFETY: the handler only makes async-signal-safe calls.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
}

/// The flag that ends a run. Written once, so reading it in a loop costs nothing.
pub fn stop_flag() -> &'static AtomicBool {
    &STOP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_an_abort_is_a_line_of_the_protocol() {
        let line = ABORTED.strip_suffix(b"\n").unwrap();
        let message: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(
            (&message["type"], &message["data"]["kind"]),
            (&"error".into(), &"failed".into())
        );
    }
}
