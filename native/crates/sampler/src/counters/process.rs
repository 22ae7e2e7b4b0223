//! A process and all that descend from it: CPU time, faults, context switches, page tables.
//!
//! Its members change, so each reading looks through /proc, which takes some milliseconds. When the first process has ended, nothing is known of the others any more.

use super::{Absent, Column, Kind, Source};
use crate::process_tree::{ProcessTree, TreeUsage};

type Of = fn(&TreeUsage) -> u64;

const COLUMNS: [(&str, Kind, Of); 9] = [
    ("process.cpu_us", Kind::Total, |usage| (usage.cpu_s * 1e6).round() as u64),
    ("process.minor_faults", Kind::Total, |usage| usage.minor_faults),
    ("process.major_faults", Kind::Total, |usage| usage.major_faults),
    ("process.voluntary_switches", Kind::Total, |usage| usage.voluntary_switches),
    ("process.involuntary_switches", Kind::Total, |usage| usage.involuntary_switches),
    ("process.rss_bytes", Kind::Level, |usage| usage.rss_bytes),
    ("process.page_table_bytes", Kind::Level, |usage| usage.page_table_bytes),
    ("process.threads", Kind::Level, |usage| usage.threads),
    ("process.processes", Kind::Level, |usage| usage.processes as u64),
];

/// A tree as it was at first, and as it was read last.
pub struct Process {
    first: ProcessTree,
    last: ProcessTree,
}

impl Process {
    /// The tree below a process.
    pub fn open(pid: u32) -> Result<Self, Absent> {
        let first = ProcessTree::read(pid)
            .ok_or_else(|| Absent::new("process", format!("there is no process {pid}")))?;
        Ok(Self { last: first.clone(), first })
    }
}

impl Source for Process {
    fn columns(&self) -> Vec<Column> {
        COLUMNS.iter().map(|(name, kind, _)| Column::new(*name, *kind)).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let Some(now) = self.last.again() else { return };
        let usage = now.since_cheaply(&self.first);
        for (place, (_, _, of)) in raw.iter_mut().zip(COLUMNS) {
            *place = Some(of(&usage));
        }
        self.last = now;
    }

    fn is_costly(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an emulator does not show: `scripts/test-aarch64` skips it.
    mod unemulated {
        use super::*;

        #[test]
        fn memory_that_this_process_touches_is_seen_as_faults_and_page_tables() {
            let mut process = Process::open(std::process::id()).unwrap();
            let mut before = [None; COLUMNS.len()];
            process.read(&mut before);
            // Pages of 4 KiB, each with an entry of its own.
            let bytes = 64 << 20;
            // SAFETY: a private anonymous mapping of its own, unmapped below.
            let block = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            assert_ne!(block, libc::MAP_FAILED);
            // SAFETY: the mapping is as large as said.
            unsafe { libc::madvise(block, bytes, libc::MADV_NOHUGEPAGE) };
            for offset in (0..bytes).step_by(4096) {
                // SAFETY: the offset is inside the mapping.
                unsafe { block.cast::<u8>().add(offset).write_volatile(1) };
            }
            let mut after = [None; COLUMNS.len()];
            process.read(&mut after);
            // SAFETY: the mapping is not used any more.
            unsafe { libc::munmap(block, bytes) };
            let place =
                |name: &str| COLUMNS.iter().position(|(known, _, _)| *known == name).unwrap();
            let gained = |name: &str| after[place(name)].unwrap() - before[place(name)].unwrap();
            assert!(gained("process.minor_faults") >= 16_384, "{before:?} {after:?}");
            // 16,384 entries of 8 bytes.
            let tables = after[place("process.page_table_bytes")].unwrap();
            assert!(tables >= 131_072, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_process_that_is_not_there_is_absent() {
        assert_eq!(Process::open(0).err().unwrap().why, "there is no process 0");
    }
}
