//! Events of perf_event_open(2), counted for a tree of processes or for every CPU.
//!
//! Which events there are is the caller's business: nothing here lists or guesses them, because opening
//! one event after another has crashed guests of some hypervisors. Events of one set are scheduled
//! together. A processor has few counters; where more sets are asked for than fit, the kernel lets them
//! take turns, and then an event's `running_ns` is below its `enabled_ns`: the count is of that
//! share of the time only. It is given as it is, and never scaled.
//!
//! A tree is counted by its threads as they are when the events are opened, and by all threads and
//! processes that these start afterwards.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, RawFd};

use super::{Absent, Column, Kind, Source};
use crate::perf_event::{Attribute, EXCLUDE_KERNEL, Place, online_cpus, reason};
use crate::process_tree::ProcessTree;

/// An event by its number, as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// As results have it, after `perf.`.
    pub name: String,
    /// 0 is hardware, 1 software, 4 raw.
    pub kind: u32,
    /// Which one; of raw, the processor's own number.
    pub config: u64,
    /// Count user space only.
    pub exclude_kernel: bool,
}

/// Whose events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A process and all that descend from it.
    Tree(u32),
    /// Every CPU, whoever runs there.
    Host,
}

struct Opened {
    name: String,
    /// By place: one counter of each thread or CPU.
    counters: Vec<File>,
}

/// Events that could be opened.
pub struct Perf {
    events: Vec<Opened>,
}

impl Perf {
    /// Opens sets of events; those that cannot be counted are told beside. Counting begins at once.
    pub fn open(sets: &[Vec<Event>], scope: Scope) -> (Self, Vec<Absent>) {
        let places = match places(scope) {
            Ok(places) => places,
            Err(why) => {
                let absent = |event: &Event| Absent::new(format!("perf.{}", event.name), &*why);
                return (Self { events: vec![] }, sets.iter().flatten().map(absent).collect());
            }
        };
        let (mut events, mut absent) = (Vec::new(), Vec::new());
        for set in sets {
            open_set(set, &places, &mut events, &mut absent);
        }
        (Self { events }, absent)
    }
}

/// Opens one set everywhere. An event that is refused somewhere is absent as a whole.
fn open_set(set: &[Event], places: &[Place], events: &mut Vec<Opened>, absent: &mut Vec<Absent>) {
    let mut leaders: Vec<Option<RawFd>> = vec![None; places.len()];
    for event in set {
        match open_everywhere(event, places, &leaders) {
            Ok(opened) => {
                if leaders.iter().all(Option::is_none) {
                    for (leader, counter) in leaders.iter_mut().zip(&opened) {
                        *leader = counter.as_ref().map(|file| file.as_raw_fd());
                    }
                }
                let counters = opened.into_iter().flatten().collect();
                events.push(Opened { name: event.name.clone(), counters });
            }
            Err(error) => {
                let why = format!("perf_event_open: {}", reason(&error));
                absent.push(Absent::new(format!("perf.{}", event.name), why));
            }
        }
    }
}

fn open_everywhere(
    event: &Event,
    places: &[Place],
    leaders: &[Option<RawFd>],
) -> io::Result<Vec<Option<File>>> {
    let open = |(place, leader): (&Place, &Option<RawFd>)| {
        match open_one(event, *place, *leader) {
            Ok(file) => Ok(Some(file)),
            // A thread that has ended meanwhile has nothing more to count.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    };
    places.iter().zip(leaders).map(open).collect()
}

fn open_one(event: &Event, place: Place, leader: Option<RawFd>) -> io::Result<File> {
    const READ_TIMES: u64 = 1 | 2; // TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING
    const INHERIT: u64 = 1 << 1;
    let mut flags = 0;
    if place.cpu < 0 {
        flags |= INHERIT;
    }
    if event.exclude_kernel {
        flags |= EXCLUDE_KERNEL;
    }
    Attribute::new(event.kind, event.config, flags).reading(READ_TIMES).open(place, leader)
}

fn places(scope: Scope) -> Result<Vec<Place>, String> {
    match scope {
        Scope::Tree(pid) => {
            let tree = ProcessTree::read(pid).ok_or(format!("there is no process {pid}"))?;
            let threads = tree.threads().into_iter();
            Ok(threads.map(|thread| Place { pid: thread, cpu: -1 }).collect())
        }
        Scope::Host => Ok(online_cpus()?.into_iter().map(|cpu| Place { pid: -1, cpu }).collect()),
    }
}

impl Source for Perf {
    fn columns(&self) -> Vec<Column> {
        let of_event = |event: &Opened| {
            ["", ":enabled_ns", ":running_ns"]
                .map(|part| Column::new(format!("perf.{}{part}", event.name), Kind::Total))
        };
        self.events.iter().flat_map(of_event).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        for (event, places) in self.events.iter_mut().zip(raw.chunks_exact_mut(3)) {
            let mut sums = [0_u64; 3];
            let is_read = event.counters.iter_mut().all(|counter| add(counter, &mut sums));
            if is_read {
                for (place, sum) in places.iter_mut().zip(sums) {
                    *place = Some(sum);
                }
            }
        }
    }

    /// Of a tree it is a system call for each event and thread.
    fn is_costly(&self) -> bool {
        true
    }
}

/// Adds count, time enabled and time running of one counter.
fn add(counter: &mut File, sums: &mut [u64; 3]) -> bool {
    let mut bytes = [0_u8; 24];
    // An event that cannot be scheduled at all ends here, at 0 bytes.
    if counter.read(&mut bytes).ok() != Some(bytes.len()) {
        return false;
    }
    for (sum, word) in sums.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut value = [0; 8];
        value.copy_from_slice(word);
        *sum += u64::from_ne_bytes(value);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK_CLOCK: u64 = 1;
    const PAGE_FAULTS: u64 = 2;

    fn software(name: &str, config: u64) -> Event {
        Event { name: name.to_owned(), kind: 1, config, exclude_kernel: false }
    }

    fn values(perf: &mut Perf) -> Vec<Option<u64>> {
        let mut raw = vec![None; perf.columns().len()];
        perf.read(&mut raw);
        raw
    }

    /// Software events need no counters of the processor, but a right.
    fn is_allowed() -> bool {
        let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        // SAFETY: geteuid takes nothing and cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        is_root || text.is_ok_and(|text| text.trim().parse().is_ok_and(|level: i32| level < 2))
    }

    /// What an emulator does not show: `scripts/test-aarch64` skips it.
    mod unemulated {
        use super::*;

        #[test]
        fn faults_and_time_of_this_process_are_counted_all_of_the_time() {
            let sets = [
                vec![software("task_clock_ns", TASK_CLOCK)],
                vec![software("faults", PAGE_FAULTS)],
            ];
            let (mut perf, absent) = Perf::open(&sets, Scope::Tree(std::process::id()));
            if !is_allowed() {
                assert_eq!(absent.len(), 2, "{absent:?}");
                return;
            }
            assert_eq!(absent, []);
            let before = values(&mut perf);
            // In a thread that begins afterwards, which must be counted as well.
            let touch = || {
                let mut block = vec![0_u8; 8 << 20];
                block.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
                std::hint::black_box(&block).len()
            };
            assert_eq!(std::thread::spawn(touch).join().unwrap(), 8 << 20);
            let after = values(&mut perf);
            let gained = |place: usize| after[place].unwrap() - before[place].unwrap();
            assert!(gained(0) > 0, "time: {before:?} {after:?}");
            assert!(gained(3) > 0, "faults: {before:?} {after:?}");
            // Software events take no turns.
            assert_eq!(gained(4), gained(5), "{before:?} {after:?}");
        }
    }

    #[test]
    fn an_event_that_is_not_there_is_absent_with_the_reason() {
        let none = Event { name: "none".to_owned(), kind: 1, config: 9999, exclude_kernel: false };
        let (perf, absent) = Perf::open(&[vec![none]], Scope::Host);
        assert!(perf.columns().is_empty());
        assert_eq!(absent[0].what, "perf.none");
        assert!(absent[0].why.starts_with("perf_event_open: "), "{}", absent[0].why);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_events() {
        let (perf, absent) = Perf::open(&[vec![software("x", TASK_CLOCK)]], Scope::Tree(0));
        assert!(perf.columns().is_empty());
        assert_eq!(absent, [Absent::new("perf.x", "there is no process 0")]);
    }
}
