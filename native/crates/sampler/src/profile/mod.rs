//! Where a server's threads are: samples of perf_event_open(2), by function.
//!
//! One event for each thread and CPU, which threads and processes that begin afterwards inherit;
//! the events of a CPU write into one ring buffer. A thread that begins while events are opened, by
//! one whose turn has not come, is missed. Samples between the first mark and the last count; where
//! they were is named afterwards, from what each process has mapped then. Call chains follow frame
//! pointers: code that keeps none shows its innermost function rightly and its callers not.

mod maps;
mod names;
mod record;
mod ring;
mod symbols;
mod tally;

pub mod named;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use assay_primitives::clock::kernel_ns;

use crate::perf_event::{Attribute, EXCLUDE_KERNEL, Place, online_cpus, reason};
use crate::process_tree::ProcessTree;
use maps::Maps;
use named::{Named, Namer};
use record::{Record, SAMPLE_TYPE};
use ring::Ring;
use tally::Tally;

/// What makes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// As results have it.
    pub name: &'static str,
    kind: u32,
    config: u64,
}

/// Cycles of the processor: it takes a PMU.
const CYCLES: Event = Event { name: "cycles", kind: 0, config: 0 };
/// A timer of the kernel's that runs while the thread does.
const CPU_CLOCK: Event = Event { name: "cpu-clock", kind: 1, config: 0 };

/// How samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    event: Event,
    with_kernel: bool,
    hz: u32,
}

/// Samples of a process and all that descend from it.
pub struct Profiler {
    way: Way,
    why_no_kernel: Option<String>,
    threads: usize,
    /// The events live as long as these.
    _events: Vec<File>,
    rings: Vec<Ring>,
    tally: Tally,
    maps: BTreeMap<u32, Maps>,
}

/// What samples say.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// From the first mark to the last.
    pub seconds: f64,
    /// How many samples there are.
    pub samples: u64,
    /// Samples that found no place in a buffer.
    pub lost: u64,
    /// By function.
    pub named: Named,
}

impl Profiler {
    /// Begins to sample `hz` times a second of each thread's CPU time; by cycles if the host has a
    /// PMU and `hardware` asks for it. The kernel's own functions are left out where that is
    /// forbidden.
    ///
    /// # Errors Says why nothing can be sampled here, and what would change it.
    pub fn open(pid: u32, hz: u32, hardware: bool) -> Result<Self, String> {
        let tree = ProcessTree::read(pid).ok_or(format!("there is no process {pid}"))?;
        let (threads, cpus) = (tree.threads(), online_cpus()?);
        let (way, why_no_kernel) = choose(pid, hz, hardware, &cpus)?;
        let (events, rings) = open_all(way, &threads, &cpus)?;
        let maps = tree.pids().map(|pid| (pid, Maps::of(pid))).collect();
        Ok(Self {
            way,
            why_no_kernel,
            threads: threads.len(),
            _events: events,
            rings,
            tally: Tally::default(),
            maps,
        })
    }

    /// What makes a sample.
    pub fn event(&self) -> Event {
        self.way.event
    }

    /// Why the kernel's own functions are left out; none if they are not.
    pub fn why_no_kernel(&self) -> Option<&str> {
        self.why_no_kernel.as_deref()
    }

    /// Threads that it was opened on.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Takes out what has been sampled. To be called often enough that the buffers do not fill: a
    /// few times a second.
    pub fn poll(&mut self) {
        let (tally, maps) = (&mut self.tally, &mut self.maps);
        for ring in &mut self.rings {
            ring.drain(|record| match record {
                Record::Sample { pid, time_ns, chain } => {
                    // A process that has begun meanwhile, and may end soon.
                    maps.entry(pid).or_insert_with(|| Maps::of(pid));
                    tally.take(pid, time_ns, chain);
                }
                Record::Lost(count) => tally.lose(count),
                Record::Other => {}
            });
        }
    }

    /// The window begins here, or ends here unless another mark follows. What is mapped is read at
    /// the first, since a server may end with its window.
    pub fn mark(&mut self) {
        let is_first = self.tally.mark(kernel_ns(libc::CLOCK_MONOTONIC));
        self.poll();
        if is_first {
            self.read_maps();
        }
    }

    fn read_maps(&mut self) {
        for (pid, maps) in &mut self.maps {
            maps.read(*pid);
        }
    }

    /// Names what was sampled between the first mark and the last. The processes should still be
    /// there.
    pub fn finish(mut self) -> Profile {
        self.read_maps();
        let mut namer = Namer::new(&self.maps);
        for (stack, count) in self.tally.stacks() {
            namer.add(stack, count);
        }
        Profile {
            seconds: self.tally.seconds(),
            samples: self.tally.samples(),
            lost: self.tally.lost(),
            named: namer.finish(),
        }
    }
}

/// The best way that works for a process, and why the kernel is left out if it is.
fn choose(
    pid: u32,
    hz: u32,
    hardware: bool,
    cpus: &[libc::c_int],
) -> Result<(Way, Option<String>), String> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| format!("there is no process {pid}"))?;
    let mut refused = None;
    let events: &[Event] = if hardware { &[CYCLES, CPU_CLOCK] } else { &[CPU_CLOCK] };
    for event in events {
        let mut why_no_kernel = None;
        for with_kernel in [true, false] {
            let way = Way { event: *event, with_kernel, hz };
            let tried = open_one(way, pid, cpus[0]).and_then(|file| Ring::map(file.as_raw_fd()));
            match tried {
                Ok(_) => return Ok((way, why_no_kernel)),
                Err(error) => {
                    why_no_kernel = Some(told(&error));
                    refused = Some(told(&error));
                }
            }
        }
    }
    Err(refused.unwrap_or_default())
}

fn told(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL) => {
            format!("perf_event_open: {error}; see kernel.perf_event_max_sample_rate")
        }
        _ => format!("perf_event_open: {}", reason(error)),
    }
}

/// One event for each thread and CPU, and one buffer for each CPU.
fn open_all(
    way: Way,
    threads: &[libc::pid_t],
    cpus: &[libc::c_int],
) -> Result<(Vec<File>, Vec<Ring>), String> {
    const SET_OUTPUT: libc::Ioctl = 0x2405; // PERF_EVENT_IOC_SET_OUTPUT
    let (mut events, mut rings) = (Vec::new(), Vec::new());
    for cpu in cpus {
        let mut owner: Option<libc::c_int> = None;
        for thread in threads {
            let event = match open_one(way, *thread, *cpu) {
                Ok(event) => event,
                // A thread that has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                Err(error) => return Err(told(&error)),
            };
            if let Some(owner) = owner {
                // SAFETY: both are descriptors of events that are open.
                if unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, owner) } != 0 {
                    return Err(told(&io::Error::last_os_error()));
                }
            } else {
                owner = Some(event.as_raw_fd());
                rings.push(Ring::map(event.as_raw_fd()).map_err(|error| {
                    format!("its buffer: {error}; see kernel.perf_event_mlock_kb, or ulimit -l")
                })?);
            }
            events.push(event);
        }
    }
    Ok((events, rings))
}

fn open_one(way: Way, pid: libc::pid_t, cpu: libc::c_int) -> io::Result<File> {
    const INHERIT: u64 = 1 << 1;
    const EXCLUDE_ITS_CHAIN: u64 = 1 << 21;
    let without = if way.with_kernel { 0 } else { EXCLUDE_KERNEL | EXCLUDE_ITS_CHAIN };
    Attribute::new(way.event.kind, way.event.config, INHERIT | without)
        .sampling(way.hz, SAMPLE_TYPE, libc::CLOCK_MONOTONIC)
        .open(Place { pid, cpu }, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_is_told() {
        let refused = Profiler::open(0, 199, false).err();
        assert_eq!(refused.as_deref(), Some("there is no process 0"));
    }

    /// What an emulator does not show: `scripts/test-aarch64` skips it.
    mod unemulated {
        use std::sync::atomic::{AtomicBool, Ordering};

        use super::*;

        static STOP: AtomicBool = AtomicBool::new(false);

        #[inline(never)]
        fn spins_until_told() -> u64 {
            let mut turns = 0_u64;
            while !STOP.load(Ordering::Relaxed) {
                turns = std::hint::black_box(turns + 1);
            }
            turns
        }

        /// Samples of one function, as the innermost.
        fn own(profile: &Profile, part: &str) -> u64 {
            let functions = &profile.named.functions;
            let is_it = |frame: &usize| functions[*frame].name.contains(part);
            let stacks = profile.named.stacks.iter();
            stacks.filter(|(frames, _)| frames.last().is_some_and(is_it)).map(|(_, n)| n).sum()
        }

        #[test]
        fn a_thread_that_was_there_and_one_that_came_later_are_found_where_they_spin() {
            let first = std::thread::spawn(spins_until_told);
            let opened = Profiler::open(std::process::id(), 997, false);
            let mut profiler = match opened {
                Ok(profiler) => profiler,
                Err(why) => {
                    // Without the right it says which one is missing.
                    STOP.store(true, Ordering::Relaxed);
                    assert!(why.contains("perf_event_paranoid"), "{why}");
                    return;
                }
            };
            let second = std::thread::spawn(spins_until_told);
            profiler.mark();
            // However busy the machine is, it ends once there are enough samples.
            while profiler.tally.pending() < 200 {
                std::thread::sleep(std::time::Duration::from_millis(20));
                profiler.poll();
            }
            profiler.mark();
            STOP.store(true, Ordering::Relaxed);
            assert!(first.join().unwrap() > 0 && second.join().unwrap() > 0);
            let profile = profiler.finish();
            assert!(profile.samples >= 200 && profile.seconds > 0.0, "{profile:?}");
            assert_eq!(profile.lost, 0);
            let spinning = own(&profile, "spins_until_told");
            assert!(2 * spinning > profile.samples, "{spinning} of {}", profile.samples);
        }
    }
}
