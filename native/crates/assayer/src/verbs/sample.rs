//! The verb `sample`: counters of the host and of a process, read again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use assay_sampler::counters::cpu::Cpu;
use assay_sampler::counters::energy::Energy;
use assay_sampler::counters::perf::{Event, Perf, Scope};
use assay_sampler::counters::probes::{Probe, Probes};
use assay_sampler::counters::process::Process;
use assay_sampler::counters::psi::Psi;
use assay_sampler::counters::softirqs::Softirqs;
use assay_sampler::counters::softnet::Softnet;
use assay_sampler::counters::vm::Vm;
use assay_sampler::counters::{Absent, Kind, Reading, Sampler, Source};
use assay_sampler::process;

use super::words::{Word, listen, unknown};
use super::{own_build_id, typed};
use crate::failure::Failure;
use crate::files;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{SampleEvent, SampleGroup, SampleProbe, SampleRequest};
use crate::protocol::response::{Checked, Ready, Sample, SampleManifest, Sampled};

const HZ_MAX: u32 = 1000;
/// How often costly counters are read, in seconds.
const COSTLY_S: u32 = 5;
const SECONDS_MAX: f64 = 86_400.0;
/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: SampleRequest = typed(request)?;
    check(&request)?;
    files::allow_most();
    process::hurry();
    let build_id = own_build_id()?;
    let (sources, absent) = open(&request)?;
    let sampler = Sampler::new(sources);
    let (started, started_s) = (Instant::now(), process::monotonic_s());
    output.write(
        "ready",
        &Ready {
            verb: "sample",
            pid: std::process::id(),
            build_id: &build_id,
            manifest: manifest(&request, &sampler, started_s, absent),
        },
    )?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let words = if request.seconds.is_none() { Some(listen()) } else { None };
    Run { sampler, started, words, samples: 0, marks: 0, cpu_s: process::process_cpu_s() }
        .finish(&request, output)
}

fn check(request: &SampleRequest) -> Result<(), Failure> {
    if !(1..=HZ_MAX).contains(&request.hz) {
        let message = format!("hz is {}: must be from 1 to {HZ_MAX}", request.hz);
        return Err(Failure::usage(message));
    }
    if let Some(seconds) = request.seconds
        && !(seconds > 0.0 && seconds <= SECONDS_MAX)
    {
        let message = format!("seconds is {seconds}: must be above 0, and {SECONDS_MAX} at most");
        return Err(Failure::usage(message));
    }
    if request.pid.is_none() && request.groups.contains(&SampleGroup::Process) {
        return Err(Failure::usage("groups: process needs a pid"));
    }
    let events = || request.pmu.iter().flatten();
    if request.groups.is_empty() && request.probes.is_empty() && events().next().is_none() {
        return Err(Failure::usage("groups, pmu and probes are empty: there is nothing to count"));
    }
    are_different("pmu: two events", events().map(|event| &event.name))?;
    are_different("probes: two", request.probes.iter().map(|probe| &probe.name))
}

/// Counters have names of their own.
fn are_different<'n>(
    two: &str,
    mut names: impl Iterator<Item = &'n String>,
) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(name) => Err(Failure::usage(format!("{two} are called {name:?}"))),
        None => Ok(()),
    }
}

type Opened = (Vec<Box<dyn Source>>, Vec<Absent>);

fn open(request: &SampleRequest) -> Result<Opened, Failure> {
    let (mut sources, mut absent) = (Vec::<Box<dyn Source>>::new(), Vec::new());
    for (place, group) in request.groups.iter().enumerate() {
        if request.groups[..place].contains(group) {
            continue;
        }
        match open_group(*group, request.pid.unwrap_or(0)) {
            Ok(source) => sources.push(source),
            Err(why) if *group == SampleGroup::Process => return Err(gone(why)),
            Err(why) => absent.push(why),
        }
    }
    if !request.pmu.is_empty() {
        let sets: Vec<Vec<Event>> =
            request.pmu.iter().map(|set| set.iter().map(event).collect()).collect();
        let (perf, refused) = Perf::open(&sets, request.pid.map_or(Scope::Host, Scope::Tree));
        sources.push(Box::new(perf));
        absent.extend(refused);
    }
    if !request.probes.is_empty() {
        let (probes, refused) = Probes::open(&request.probes.iter().map(probe).collect::<Vec<_>>());
        sources.push(Box::new(probes));
        absent.extend(refused);
    }
    Ok((sources, absent))
}

fn open_group(group: SampleGroup, pid: u32) -> Result<Box<dyn Source>, Absent> {
    Ok(match group {
        SampleGroup::Cpu => Box::new(Cpu::open()?),
        SampleGroup::Softirqs => Box::new(Softirqs::open()?),
        SampleGroup::Softnet => Box::new(Softnet::open()?),
        SampleGroup::Vm => Box::new(Vm::open()?),
        SampleGroup::Psi => Box::new(Psi::open()?),
        SampleGroup::Energy => Box::new(Energy::open()?),
        SampleGroup::Process => Box::new(Process::open(pid)?),
    })
}

fn gone(absent: Absent) -> Failure {
    Failure::Missing { message: absent.why, next: "give the pid of a process that runs".to_owned() }
}

fn event(asked: &SampleEvent) -> Event {
    Event {
        name: asked.name.clone(),
        kind: asked.kind,
        config: asked.config,
        exclude_kernel: asked.exclude_kernel,
    }
}

fn probe(asked: &SampleProbe) -> Probe {
    let SampleProbe { name, path, offset } = asked.clone();
    Probe { name, path, offset }
}

fn manifest<'a>(
    request: &SampleRequest,
    sampler: &'a Sampler,
    started_s: f64,
    absent: Vec<Absent>,
) -> SampleManifest<'a> {
    let columns = sampler.columns();
    let levels = columns.iter().filter(|column| column.kind == Kind::Level);
    SampleManifest {
        hz: request.hz,
        pid: request.pid,
        started_s,
        counters: columns.iter().map(|column| column.name.as_str()).collect(),
        levels: levels.map(|column| column.name.as_str()).collect(),
        costly: sampler.costly().map(|column| column.name.as_str()).collect(),
        absent: absent.into_iter().map(|of| (of.what, of.why)).collect::<BTreeMap<_, _>>(),
    }
}

/// Why a wait ended.
enum Woken {
    Tick,
    Mark,
    End { complete: bool },
}

struct Run {
    sampler: Sampler,
    started: Instant,
    words: Option<Receiver<Word>>,
    samples: u64,
    marks: u64,
    cpu_s: f64,
}

impl Run {
    fn finish(mut self, request: &SampleRequest, output: &mut Output) -> Result<(), Failure> {
        let period = Duration::from_secs(1) / request.hz;
        let end = request.seconds.map(Duration::from_secs_f64);
        let mut tick = 1_u32;
        let complete = loop {
            match self.wait(period * tick, end)? {
                Woken::Tick => {
                    let is_time = tick.is_multiple_of(COSTLY_S * request.hz);
                    let reading = if is_time { Reading::All } else { Reading::Cheap };
                    self.take(reading, None, output)?;
                    // A tick that passed while this process had to wait is left out, not made up for.
                    let passed = self.started.elapsed().as_nanos() / period.as_nanos();
                    tick = u32::try_from(passed).unwrap_or(u32::MAX - 1).max(tick) + 1;
                }
                Woken::Mark => {
                    let mark = self.marks;
                    self.marks += 1;
                    self.take(Reading::All, Some(mark), output)?;
                }
                Woken::End { complete } => break complete,
            }
        };
        self.take(Reading::All, None, output)?;
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu_s = process::process_cpu_s() - self.cpu_s;
        output.write("result", &Sampled { complete, seconds, samples: self.samples, cpu_s })
    }

    fn take(
        &mut self,
        reading: Reading,
        mark: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.samples += 1;
        let at_s = self.started.elapsed().as_secs_f64();
        let values = self.sampler.read(reading);
        output.write("sample", &Sample { at_s, mark, values })
    }

    /// Waits for the next tick, a mark or the end, whichever comes first.
    fn wait(&self, due: Duration, end: Option<Duration>) -> Result<Woken, Failure> {
        loop {
            if life::stop_flag().load(Ordering::Relaxed) {
                return Ok(Woken::End { complete: false });
            }
            let spent = self.started.elapsed();
            if end.is_some_and(|end| spent >= end) {
                return Ok(Woken::End { complete: true });
            }
            if spent >= due {
                return Ok(Woken::Tick);
            }
            let next = end.map_or(due, |end| end.min(due));
            let rest = (next - spent).min(LOOK);
            let Some(words) = &self.words else {
                std::thread::sleep(rest);
                continue;
            };
            match words.recv_timeout(rest) {
                Ok(Word::Mark) => return Ok(Woken::Mark),
                Ok(Word::Other(word)) => return Err(unknown(&word)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Woken::End { complete: true });
                }
            }
        }
    }
}
