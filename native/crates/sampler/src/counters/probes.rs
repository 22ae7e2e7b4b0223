//! Uprobes: how often an instruction of a file is reached, by whoever runs the file.
//!
//! One counter for each CPU, not for each process: the kernel would put the latter in and take it
//! out at every change of threads. Each pass costs a trap into the kernel, and taking a probe away
//! costs the kernel some 80 ms for each CPU. What is counted is therefore rare, such as the waits for
//! a lock.

use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Absent, Column, Kind, Source};
use crate::perf_event::{Attribute, Place, online_cpus, reason};

const TYPE: &str = "/sys/bus/event_source/devices/uprobe/type";

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// As results have it, after `probe.`.
    pub name: String,
    /// The executable or library.
    pub path: PathBuf,
    /// Bytes from the start of the file to the first one of an instruction.
    pub offset: u64,
}

/// Probes that could be set.
pub struct Probes {
    /// By probe: a counter of each CPU.
    set: Vec<(String, Vec<File>)>,
}

impl Probes {
    /// Sets probes; those that the kernel refuses are told beside. Counting begins at once.
    pub fn open(probes: &[Probe]) -> (Self, Vec<Absent>) {
        let (mut set, mut absent) = (Vec::new(), Vec::new());
        for probe in probes {
            match open_one(probe) {
                Ok(counters) => set.push((probe.name.clone(), counters)),
                Err(why) => absent.push(Absent::new(format!("probe.{}", probe.name), why)),
            }
        }
        (Self { set }, absent)
    }
}

fn open_one(probe: &Probe) -> Result<Vec<File>, String> {
    let kind = std::fs::read_to_string(TYPE).map_err(|error| format!("{TYPE}: {error}"))?;
    let kind = kind.trim().parse().map_err(|_| format!("{TYPE}: {kind:?} is no number"))?;
    let path = CString::new(probe.path.as_os_str().as_bytes())
        .map_err(|_| "its path has a zero byte".to_owned())?;
    let attribute = Attribute::new(kind, 0, 0).with(path.as_ptr() as u64, probe.offset);
    let open = |cpu| attribute.open(Place { pid: -1, cpu }, None);
    let counters = online_cpus()?.into_iter().map(open).collect::<Result<Vec<_>, _>>();
    counters.map_err(|error| {
        let shown = probe.path.display();
        format!("perf_event_open of a probe at {shown}+{:#x}: {}", probe.offset, reason(&error))
    })
}

impl Source for Probes {
    fn columns(&self) -> Vec<Column> {
        let column = |(name, _): &(String, _)| Column::new(format!("probe.{name}"), Kind::Total);
        self.set.iter().map(column).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        for ((_, counters), place) in self.set.iter_mut().zip(raw) {
            *place = counters.iter_mut().map(count).sum();
        }
    }

    /// It is a system call for each probe and CPU.
    fn is_costly(&self) -> bool {
        true
    }
}

fn count(counter: &mut File) -> Option<u64> {
    let mut bytes = [0; 8];
    (counter.read(&mut bytes).ok() == Some(bytes.len())).then(|| u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(path: &str, offset: u64) -> Probe {
        Probe { name: "here".to_owned(), path: path.into(), offset }
    }

    #[test]
    fn a_probe_that_cannot_be_set_is_absent_with_the_reason() {
        for path in ["/no/such/file", "/no\0file"] {
            let (probes, absent) = Probes::open(&[probe(path, 0)]);
            assert!(probes.columns().is_empty());
            assert_eq!(absent[0].what, "probe.here");
            assert!(!absent[0].why.is_empty());
        }
    }

    /// What an emulator does not show: `scripts/test-aarch64` skips it.
    mod unemulated {
        use super::*;

        #[inline(never)]
        fn passes(turn: u64) -> u64 {
            std::hint::black_box(turn) + 1
        }

        /// Where something of this program is in its file.
        fn offset_of(address: usize) -> u64 {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
            let held = maps.lines().find_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let (start, end) = words.next()?.split_once('-')?;
                let offset = words.nth(1)?;
                (number(start)..number(end))
                    .contains(&address)
                    .then(|| address - number(start) + number(offset))
            });
            held.unwrap() as u64
        }

        #[test]
        fn passes_over_a_place_of_this_program_are_counted_in_every_thread() {
            let path = std::env::current_exe().unwrap();
            let offset = offset_of(passes as fn(u64) -> u64 as usize);
            let asked = Probe { name: "here".to_owned(), path, offset };
            let (mut probes, absent) = Probes::open(&[asked]);
            if !absent.is_empty() {
                // Not every kernel or user may: then that is said.
                assert!(absent[0].why.contains("uprobe") || absent[0].why.contains("probe at"));
                return;
            }
            let mut read = || {
                let mut raw = [None];
                probes.read(&mut raw);
                raw[0].unwrap()
            };
            let before = read();
            assert_eq!((0..10).map(passes).sum::<u64>(), 55);
            std::thread::spawn(|| assert_eq!((0..5).map(passes).sum::<u64>(), 15)).join().unwrap();
            assert_eq!(read() - before, 15);
        }
    }
}
