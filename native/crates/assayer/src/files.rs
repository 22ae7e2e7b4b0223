//! How many files, and so connections, the process may have open.

use crate::failure::Failure;

/// Files that are open beside connections: libraries, pipes, the loops' own.
const OTHER_FILES: u64 = 64;

/// Lets the process have as many as it may have at all, since shells start programs with a lower
/// limit; how many that is.
pub fn allow_most() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only use the structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return u64::MAX;
        }
        let before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        // Where it is refused the old limit holds.
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0 {
            return before;
        }
    }
    limit.rlim_cur
}

/// The same, for so many connections.
///
/// # Errors
/// `Missing` when they are more than the process may have.
pub fn allow(connections: usize) -> Result<(), Failure> {
    enough(connections, allow_most())
}

fn enough(connections: usize, limit: u64) -> Result<(), Failure> {
    if connections as u64 + OTHER_FILES <= limit {
        return Ok(());
    }
    let wanted = connections as u64 + OTHER_FILES;
    Err(Failure::Missing {
        message: format!(
            "{connections} connections need {wanted} open files; this process may have {limit}"
        ),
        next: format!(
            "raise the hard limit, as root: prlimit --pid $$ --nofile={wanted} (or LimitNOFILE of \
             the service), or take fewer connections"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_files_are_told_with_how_to_have_more() {
        assert!(enough(10_000, 10_064).is_ok());
        let Err(Failure::Missing { message, next }) = enough(10_000, 1024) else {
            panic!("1,024 files are too few for 10,000 connections");
        };
        assert!(message.contains("10000 connections") && message.contains("1024"), "{message}");
        assert!(next.contains("--nofile=10064"), "{next}");
    }
}
