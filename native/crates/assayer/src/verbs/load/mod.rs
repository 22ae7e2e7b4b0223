//! `load`: a workload against a server.

mod hits;
mod http;
mod key_value;
mod script;
pub mod sql;
mod tls;
mod unit;

use std::future::Future;

use assay_load::arrivals::Spacing;
use assay_load::{Client, Error, Rate, Station};
use assay_primitives::Clock;
use assay_runtime::{Address, Backend, Handle, Worker};
use assay_sampler::ProcessTree;
use assay_wire::{Target, memcached, mysql, postgres, resp};

pub use self::http::target as http_target;
use self::key_value::Command;
use self::unit::{Common, LoadUnit, SPUN};
use super::run::{Ending, Run, Subject};
use super::{server_tree, server_usage, typed};
use crate::failure::Failure;
use crate::files;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{
    LoadAction, LoadBackend, LoadProtocol, LoadRequest, LoadSpacing, LoadTarget, LoadWorkload,
};
use crate::protocol::response::{Health, Load, LoadManifest, Refused, State};
use assay_measure::Measured;
use assay_measure::{Timed, Unit, WorkerReport};
use assay_measure::{empty, encode};

const CONNECTIONS_MAX: usize = 100_000;
/// A send that is later than this is late.
const LATE_NS: u64 = 1_000_000;

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: LoadRequest = typed(request)?;
    let schedule = request.schedule();
    schedule.validate()?;
    check(&request, schedule.threads)?;
    let target = target(&request.target)?;
    let is_run = request.action == LoadAction::Run;
    match (request.target.protocol, &request.workload) {
        (LoadProtocol::Mysql, _) => sql::run::<mysql::Session>(&request, &target, output),
        (LoadProtocol::Postgresql, _) => sql::run::<postgres::Session>(&request, &target, output),
        (LoadProtocol::Redis, LoadWorkload::Ycsb(it)) => {
            key_value::ycsb::<resp::Session>(&request, &target, it, output)
        }
        (LoadProtocol::Redis, LoadWorkload::RedisGet(it)) => {
            key_value::commands::<resp::Session>(&request, &target, Command::Get, it, output)
        }
        (LoadProtocol::Redis, LoadWorkload::RedisSet(it)) => {
            key_value::commands::<resp::Session>(&request, &target, Command::Set, it, output)
        }
        (LoadProtocol::Memcached, LoadWorkload::Ycsb(it)) => {
            key_value::ycsb::<memcached::Session>(&request, &target, it, output)
        }
        (LoadProtocol::Memcached, LoadWorkload::MemcachedGet(it)) => {
            key_value::commands::<memcached::Session>(&request, &target, Command::Get, it, output)
        }
        (LoadProtocol::Memcached, LoadWorkload::MemcachedSet(it)) => {
            key_value::commands::<memcached::Session>(&request, &target, Command::Set, it, output)
        }
        (LoadProtocol::Redis, LoadWorkload::Script(it)) => {
            script::redis(&request, &target, it, output)
        }
        (LoadProtocol::Http, LoadWorkload::Script(it)) => {
            script::http(&request, &target, it, output)
        }
        (LoadProtocol::Http, LoadWorkload::HttpGet { path }) if is_run => {
            http::run(&request, &target, path, output)
        }
        (LoadProtocol::Http, workload @ LoadWorkload::HttpGet { .. }) => {
            let message =
                format!("{workload:?} keeps no data on the server: there is nothing to do");
            Err(Failure::usage(message))
        }
        _ => Err(elsewhere(&request)),
    }
}

fn elsewhere(request: &LoadRequest) -> Failure {
    let LoadRequest { workload, target, .. } = request;
    let message = format!("{workload:?} cannot be asked of a server of {:?}", target.protocol);
    Failure::usage(message)
}

fn check(request: &LoadRequest, threads: usize) -> Result<(), Failure> {
    let connections = request.connections;
    if !(threads..=CONNECTIONS_MAX).contains(&connections) {
        return Err(Failure::usage(format!(
            "connections is {connections}: must be from {threads} (one for each thread) to \
             {CONNECTIONS_MAX}"
        )));
    }
    match request.rate {
        Some(rate) if !(rate.per_s.is_finite() && rate.per_s > 0.0) => {
            Err(Failure::usage(format!("rate.per_s is {}: must be above 0", rate.per_s)))
        }
        _ => Ok(()),
    }
}

/// Where a server is, and as whom.
pub fn target(asked: &LoadTarget) -> Result<Target, Failure> {
    let address = match &asked.socket {
        Some(path) => Address::unix(path),
        None => Address::tcp(&asked.host, asked.port).map_err(|error| Failure::Missing {
            message: error.to_string(),
            next: "check the host's name".to_owned(),
        })?,
    };
    let tls = tls::of(asked)?;
    let LoadTarget { user, password, database, .. } = asked.clone();
    Ok(Target { address, user, password, database, tls })
}

/// A server that is not there or refuses, with what helps if the error says it.
fn missing(error: &Error) -> Failure {
    let told = error.to_string();
    let (message, next) = told
        .split_once("; next: ")
        .unwrap_or((&told, "check the address, the user and the password"));
    Failure::Missing { message: message.to_owned(), next: next.to_owned() }
}

/// The event loop of a thread.
fn worker(request: &LoadRequest, clock: Clock) -> Result<Worker, Failure> {
    let worker = match request.backend {
        None => Worker::new(clock),
        Some(LoadBackend::Epoll) => Worker::with_backend(clock, Backend::Epoll),
        Some(LoadBackend::IoUring) => Worker::with_backend(clock, Backend::IoUring),
    };
    worker.map_err(|error| Failure::Missing {
        message: error.to_string(),
        next: "leave out backend, or take epoll".to_owned(),
    })
}

fn rate(request: &LoadRequest) -> Option<Rate> {
    request.rate.map(|rate| Rate {
        per_s: rate.per_s,
        spacing: match rate.spacing {
            LoadSpacing::Even => Spacing::Even,
            LoadSpacing::Poisson => Spacing::Poisson,
        },
    })
}

/// Measures a workload: `opener` makes, on a worker's thread, what makes the client of a connection.
fn measure<C, F, O>(
    request: &LoadRequest,
    target: &Target,
    kinds: &[&'static str],
    opener: impl Fn(usize) -> O + Sync,
    output: &mut Output,
) -> Result<(), Failure>
where
    C: Client,
    F: Future<Output = Result<C, Error>> + 'static,
    O: Fn(Handle, usize) -> F,
{
    let schedule = request.schedule();
    let (threads, seed) = (schedule.threads, schedule.seed);
    if !request.check_only {
        files::allow(request.connections)?;
    }
    let run = Run::begin("load", &schedule, request.check_only, output)?;
    let (ended_by, refusals, backends) = Default::default();
    let (clock, rate) = (run.clock, rate(request));
    let common = Common { clock, rate, threads, seed, ended_by, refusals, backends };
    run.measure(Loaded { request, target, kinds, opener, common }, output)
}

struct Loaded<'a, P> {
    request: &'a LoadRequest,
    target: &'a Target,
    kinds: &'a [&'static str],
    opener: P,
    common: Common,
}

impl<C, F, O, P> Subject for Loaded<'_, P>
where
    C: Client,
    F: Future<Output = Result<C, Error>> + 'static,
    O: Fn(Handle, usize) -> F,
    P: Fn(usize) -> O + Sync,
{
    type Manifest = LoadManifest;

    fn kinds(&self) -> Vec<&'static str> {
        self.kinds.to_vec()
    }

    /// What recording takes is not the server's.
    fn timed(&self) -> Option<Timed> {
        None
    }

    fn processes(&self) -> Result<(Option<ProcessTree>, Vec<ProcessTree>), Failure> {
        let tree = |(name, pid)| server_tree(name, pid);
        let server = self.request.server_pid.map(|pid| tree(("server_pid", pid))).transpose()?;
        let beside = self.request.beside_pids.iter().map(|pid| tree(("beside_pids", *pid)));
        Ok((server, beside.collect::<Result<_, _>>()?))
    }

    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        let Self { request, common, .. } = self;
        let station = Station::new(worker(request, common.clock)?, request.patience_s);
        common.uses(station.backend());
        let (open, handle) = ((self.opener)(thread), station.handle());
        let numbers = (thread..request.connections).step_by(common.threads);
        let clients = numbers.map(|number| open(handle.clone(), number));
        station.connect_all(clients, life::stop_flag()).map_err(|error| missing(&error))?;
        let (has_started, until) = (false, u64::MAX);
        Ok(Box::new(LoadUnit { station, common, thread, has_started, until }))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<LoadManifest, Failure> {
        Ok(LoadManifest {
            server: self.target.address.to_string(),
            connections: self.request.connections,
            backend: self.common.backend(),
            placed: run.placed(),
            connect_s: run.since_s(),
        })
    }

    fn health(&self, measured: &Measured) -> Health {
        health(measured, &self.common)
    }

    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        hits::ended_one(self.request, measured)?;
        let tls = self.target.tls.as_ref().and_then(|tls| tls.config.agreed());
        let load = load(measured, &self.common, self.request.connections)?;
        Ok(Ending {
            load: Some(Load { tls: tls.map(str::to_owned), ..load }),
            server: measured.server.map(server_usage),
            ..Ending::of(State { records: None, checksum_ok: true, faults: Vec::new() })
        })
    }
}

/// The client's view of its own health.
fn health(measured: &Measured, common: &Common) -> Health {
    let idle = measured.cpus.iter().map(|cpu| cpu.idle).sum::<f64>();
    let idle = idle / measured.cpus.len().max(1) as f64;
    let busiest = measured.reports.iter().map(|it| work_s(it) / measured.window_s.max(1e-9));
    let sends = measured.recording.sends.as_ref();
    let late = sends.filter(|sends| !sends.lateness.is_empty()).map(|sends| {
        let lateness = &sends.lateness;
        1.0 - lateness.count_between(0, LATE_NS) as f64 / lateness.len() as f64
    });
    Health {
        loader: "client",
        busiest_thread: busiest.max_by(f64::total_cmp),
        late_sends: late.filter(|_| common.rate.is_some()),
        asked_per_s: common.rate.map(|rate| rate.per_s),
        // A server elsewhere is not seen; one here may use every CPU.
        server_idle: idle,
        ..measured.health
    }
}

/// CPU seconds of a worker without those in which it only waited for a time.
fn work_s(report: &WorkerReport) -> f64 {
    let spun = report.counts.counters.iter().find(|(name, _)| *name == SPUN);
    (report.cpu_s - spun.map_or(0.0, |(_, ns)| *ns as f64 / 1e9)).max(0.0)
}

fn load(measured: &Measured, common: &Common, connections: usize) -> Result<Load, Failure> {
    let nothing = empty();
    let sends = measured.recording.sends.as_ref();
    let cpu_s: f64 = measured.reports.iter().map(work_s).sum();
    let operations = measured.recording.operations().max(1);
    Ok(Load {
        connections,
        tls: None,
        service: encode(sends.map_or(&nothing, |sends| &sends.service))?,
        lateness: encode(sends.map_or(&nothing, |sends| &sends.lateness))?,
        cpu_us_per_operation: cpu_s * 1e6 / operations as f64,
        ended_by: common.ended_by.lock().ok().and_then(|mut reason| reason.take()),
        errors: refused(measured, common),
    })
}

/// Who was refused within the window.
fn refused(measured: &Measured, common: &Common) -> Vec<Refused> {
    let counts = measured.recording.sends.as_ref().map_or(&[][..], |sends| &sends.refused);
    let Ok(refusals) = common.refusals.lock() else { return Vec::new() };
    let counted = refusals.get().iter().zip(counts).filter(|(_, count)| **count > 0);
    counted
        .map(|(refusal, count)| Refused {
            kind: refusal.kind.name(),
            code: refusal.code.clone(),
            message: refusal.message.clone(),
            count: *count,
        })
        .collect()
}
