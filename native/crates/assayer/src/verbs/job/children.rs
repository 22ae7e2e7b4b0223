//! What a command leaves running: whoever loses its parent becomes a child of this process, is seen,
//! and is killed.

use std::path::Path;
use std::time::{Duration, Instant};

/// So long after a command's end something of it may still be ending.
const GRACE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

/// Makes this process the parent of whoever loses theirs below it.
pub fn adopt() {
    // SAFETY: the call touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// CPU seconds of children that were waited for.
pub fn cpu_s() -> f64 {
    // SAFETY: rusage is plain numbers, for which zeros are values, and the call writes one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A time of the kernel's.
pub fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// The names of processes that were still there after the grace, and now are not.
pub fn left_over() -> Vec<String> {
    if gone_within(GRACE) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        for pid in all() {
            if let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/comm")) {
                names.push(name.trim().to_owned());
            }
            // SAFETY: the call touches no memory; the process is a child of ours that nobody else
            // waits for, so its number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        if gone_within(10 * LOOK) {
            break;
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Reaps whoever has ended, until nobody is left or the time is over; says whether nobody is.
fn gone_within(patience: Duration) -> bool {
    let begun = Instant::now();
    loop {
        // SAFETY: no status is asked for, so nothing is written.
        let reaped = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        if reaped < 0 {
            return true;
        }
        if reaped == 0 {
            if begun.elapsed() >= patience {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The children of this process.
fn all() -> Vec<libc::pid_t> {
    let Ok(tasks) = std::fs::read_dir(Path::new("/proc/self/task")) else { return Vec::new() };
    let lists =
        tasks.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("children")).ok());
    lists.flat_map(|it| it.split_whitespace().flat_map(str::parse).collect::<Vec<_>>()).collect()
}
