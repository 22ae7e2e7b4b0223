//! What threads of the kernel use: they write back, keep journals and compact for whoever asked.
//!
//! On a machine whose processes are known, that is the work of those processes, done later. The
//! numbers are ticks of 10 ms, and those of a thread that ended between two readings are lost.

use std::collections::BTreeMap;

use crate::process_tree::{AllProcesses, Identity, Stat, TICKS_PER_S};

/// The parent of all of them. In a container it is another process, or none.
const KTHREADD: u32 = 2;

/// A reading of all threads of the kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelThreads {
    ticks: BTreeMap<Identity, u64>,
}

impl KernelThreads {
    /// Those of a reading; none where they are not shown.
    pub fn among(all: &AllProcesses) -> Self {
        let name = std::fs::read_to_string("/proc/2/comm").unwrap_or_default();
        if name.trim_end() == "kthreadd" { Self::of(&all.0) } else { Self::default() }
    }

    fn of(all: &[Stat]) -> Self {
        let threads = all.iter().filter(|stat| stat.parent == KTHREADD);
        Self { ticks: threads.map(|stat| (stat.identity, stat.own_ticks)).collect() }
    }

    /// CPU seconds since an earlier reading, of those that are there now.
    pub fn cpu_s_since(&self, earlier: &Self) -> f64 {
        let gained = self.ticks.iter().map(|(identity, now)| {
            now.saturating_sub(earlier.ticks.get(identity).copied().unwrap_or(0))
        });
        gained.sum::<u64>() as f64 / TICKS_PER_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, started: u64, parent: u32, own_ticks: u64) -> Stat {
        let identity = Identity { pid, started };
        Stat { identity, parent, own_ticks, reaped_ticks: 0, minor_faults: 0, major_faults: 0 }
    }

    #[test]
    fn what_kernel_threads_gained_is_counted_and_nothing_of_processes() {
        let then = KernelThreads::of(&[stat(7, 1, 2, 100), stat(8, 1, 2, 5), stat(9, 1, 1, 0)]);
        // 8 has ended and its number is another thread's; 9 is a process.
        let now = [stat(7, 1, 2, 130), stat(8, 900, 2, 4), stat(9, 1, 1, 500), stat(10, 9, 2, 6)];
        let gained = KernelThreads::of(&now).cpu_s_since(&then);
        assert!((gained - 0.40).abs() < 1e-9, "{gained}");
    }

    #[test]
    fn a_reading_is_never_ahead_of_a_later_one() {
        let then = KernelThreads::among(&AllProcesses::read());
        assert!(KernelThreads::among(&AllProcesses::read()).cpu_s_since(&then) >= 0.0);
        assert_eq!(then.cpu_s_since(&then), 0.0);
    }
}
