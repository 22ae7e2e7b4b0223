//! `store`: YCSB in this process on a library that is loaded by its path, RocksDB or SQLite.

mod prepare;
mod unit;

use std::path::Path;

use assay_disasm::Image;
use assay_primitives::{Clock, smaps};
use assay_sampler::ProcessTree;
use assay_stores::folder::Scratch;
use assay_stores::{Ask, Opening, Shape, Store, StoreError, belongs, defaults, look_through, open};
use assay_workload::{OperationKind, Plan};
use serde_json::Value;

use self::unit::StoreUnit;
use super::engine::ycsb_parameters;
use super::run::{Ending, Run, Subject};
use super::typed;
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{StoreAction, StoreRequest};
use crate::protocol::response::{Checked, ServerUsage, State, StoreManifest, StoreOptions};
use assay_measure::Measured;
use assay_measure::{Timed, Unit};

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    let request: StoreRequest = typed(request)?;
    request.schedule().validate()?;
    life::tell_aborts();
    if request.action == StoreAction::Options {
        let found = defaults(request.store, &request.library)?;
        let options = StoreOptions { version: &found.version, options: &found.options };
        return output.write("options", &options);
    }
    let plan = Plan::new(ycsb_parameters(&request.workload.0, request.schedule().seed))?;
    if request.check_only {
        // Everything that can be refused, on data that are gone afterwards.
        let scratch = Scratch::new()?;
        open(&ask(&request, &plan, scratch.path(), Opening::Create))?;
        return output.write("checked", &Checked {});
    }
    let Some(folder) = request.path.clone() else {
        let message = format!("path is missing: action {:?} needs a folder", request.action);
        return Err(Failure::usage(message.to_lowercase()));
    };
    match request.action {
        StoreAction::Prepare => prepare::run(&request, &plan, &folder, output),
        StoreAction::Run | StoreAction::Options => measure(&request, &plan, &folder, output),
    }
}

fn ask<'a>(request: &'a StoreRequest, plan: &Plan, folder: &'a Path, opening: Opening) -> Ask<'a> {
    Ask {
        kind: request.store,
        library: &request.library,
        folder,
        opening,
        settings: &request.settings,
        shape: Shape::of(plan.parameters()),
        sessions: request.schedule().threads,
    }
}

fn measure(
    request: &StoreRequest,
    plan: &Plan,
    folder: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let run = Run::begin("store", &schedule, false, output)?;
    let store = open(&ask(request, plan, folder, Opening::Existing))?;
    let open_s = run.since_s();
    belongs(&*store, plan)?;
    run.measure(Opened { request, plan, store, open_s, clock: run.clock }, output)
}

struct Opened<'a> {
    request: &'a StoreRequest,
    plan: &'a Plan,
    store: Box<dyn Store>,
    open_s: f64,
    clock: Clock,
}

impl Subject for Opened<'_> {
    type Manifest = StoreManifest;

    fn kinds(&self) -> Vec<&'static str> {
        self.plan.kinds().into_iter().map(OperationKind::name).collect()
    }

    fn timed(&self) -> Option<Timed> {
        Some(Timed { ends: unit::BATCH, operations: 1 })
    }

    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        Ok(Box::new(StoreUnit::new(&*self.store, self.plan, thread, self.clock)?))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<StoreManifest, Failure> {
        let in_force = self.store.in_force();
        Ok(StoreManifest {
            store: self.request.store.name(),
            library: in_force.library.clone(),
            library_build_id: build_id(&in_force.library),
            version: in_force.version.clone(),
            settings: in_force.settings.clone(),
            placed: run.placed(),
            open_s: self.open_s,
            records: self.plan.keys().readable(),
            log: in_force.log.clone(),
        })
    }

    /// Looks at all records while the store's memory is as it was in the window.
    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        let memory = smaps::touched().ok();
        let shape = Shape::of(self.plan.parameters());
        let found = look_through(&*self.store, shape, self.plan.keys().readable())?;
        let (checksum_ok, faults) = (found.faults.is_empty(), found.faults);
        let state = State { records: Some(found.records), checksum_ok, faults };
        // Histograms of what never happened.
        measured.counts.counters.retain(|(name, count)| *count > 0 || !is_of_histogram(name));
        Ok(Ending { memory, server: Some(own_usage(measured)), ..Ending::of(state) })
    }
}

fn is_of_histogram(name: &str) -> bool {
    name.ends_with(".count") || name.ends_with(".sum")
}

/// None of a file that is no executable, or has none.
fn build_id(library: &Path) -> Option<String> {
    Image::open(library).ok()?.parse().ok()?.build_id
}

/// The server is this process: threads that work in the background count.
fn own_usage(measured: &Measured) -> ServerUsage {
    let tree = ProcessTree::read(std::process::id());
    let memory = tree.map(|tree| tree.since(&tree)).unwrap_or_default();
    ServerUsage {
        cpu_s: measured.own.cpu_s,
        rss_bytes: memory.rss_bytes,
        pss_bytes: memory.pss_bytes,
        processes: 1,
        voluntary_switches: measured.own.voluntary_switches,
        involuntary_switches: measured.own.involuntary_switches,
    }
}

/// The key space was sized for fewer inserts.
fn full() -> Failure {
    StoreError::KeySpaceFull.into()
}
