//! Opening events of perf_event_open(2), whatever they are for.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, RawFd};

/// Do not count what the kernel does, nor the hypervisor.
pub const EXCLUDE_KERNEL: u64 = 1 << 5 | 1 << 6;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// `struct perf_event_attr` as of Linux 4.1 (PERF_ATTR_SIZE_VER5). Older kernels take it too, as what
/// they do not know is 0.
const WORDS: usize = 14;
const BYTES: u64 = 8 * WORDS as u64;

/// What an event is opened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// A thread; -1 is all, and 0 the caller.
    pub pid: libc::pid_t,
    /// A CPU; -1 is all.
    pub cpu: libc::c_int,
}

/// `struct perf_event_attr`, by its words: type and size, config, period or frequency, sample type,
/// read format, flags, wake-ups, two more configs, branches, registers, stack size and clock,
/// registers, aux and depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute([u64; WORDS]);

impl Attribute {
    /// An event by the kernel's numbers, counted from the moment it is opened.
    pub fn new(kind: u32, config: u64, flags: u64) -> Self {
        let mut words = [0; WORDS];
        (words[0], words[1], words[5]) = (u64::from(kind) | BYTES << 32, config, flags);
        Self(words)
    }

    /// What a reading gives beside the count.
    pub fn reading(mut self, format: u64) -> Self {
        self.0[4] = format;
        self
    }

    /// Samples of a kind, so often a second, with times of a clock.
    pub fn sampling(mut self, hz: u32, sample_type: u64, clock: libc::clockid_t) -> Self {
        const BY_FREQUENCY: u64 = 1 << 10;
        const USE_CLOCK: u64 = 1 << 25;
        self.0[5] |= BY_FREQUENCY | USE_CLOCK;
        (self.0[2], self.0[3]) = (hz.into(), sample_type);
        self.0[11] = (clock as u64) << 32;
        self
    }

    /// Two more configs, whose meaning is the type's. One may be an address, which must be good while
    /// the event is opened.
    pub fn with(mut self, one: u64, two: u64) -> Self {
        (self.0[7], self.0[8]) = (one, two);
        self
    }

    /// Opens the event, in the set of a leader if there is one.
    ///
    /// # Errors
    /// What the kernel says; [`reason`] has it in words.
    pub fn open(&self, place: Place, leader: Option<RawFd>) -> io::Result<File> {
        // SAFETY: the attribute is as large as it says; the call only reads it.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                self.0.as_ptr(),
                place.pid,
                place.cpu,
                leader.unwrap_or(-1),
                CLOSE_ON_EXEC,
            )
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        Ok(unsafe { File::from_raw_fd(descriptor as libc::c_int) })
    }
}

/// What an error means here, where the system's own words mislead.
pub fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            format!("this host has no such counter ({error})")
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("{error}; see kernel.perf_event_paranoid, or grant CAP_PERFMON")
        }
        Some(libc::EINVAL) => {
            format!("{error}: no such event here, or the set does not fit the processor's counters")
        }
        Some(libc::EMFILE) => format!("{error}; raise the limit with ulimit -n"),
        _ => error.to_string(),
    }
}

/// The numbers of the CPUs that are there.
pub fn online_cpus() -> Result<Vec<libc::c_int>, String> {
    let path = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    cpu_list(text.trim()).ok_or(format!("{path}: {text:?} is not a list"))
}

/// CPUs of a list such as `0-3,8`.
fn cpu_list(text: &str) -> Option<Vec<libc::c_int>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse().ok()?..=last.parse::<libc::c_int>().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_has_ranges_and_single_ones() {
        assert_eq!(cpu_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list("x"), None);
    }
}
