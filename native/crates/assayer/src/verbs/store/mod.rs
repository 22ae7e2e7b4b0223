//! `store`: YCSB in this process on a library that is loaded by its path, RocksDB or SQLite.

mod prepare;
mod unit;

use std::path::Path;
use std::time::Instant;

use assay_disasm::Image;
use assay_primitives::{Clock, smaps};
use assay_sampler::ProcessTree;
use assay_stores::folder::Scratch;
use assay_stores::{Ask, Opening, Shape, Store, StoreError, belongs, defaults, look_through, open};
use assay_workload::{OperationKind, Plan};
use serde_json::Value;

use self::unit::StoreUnit;
use super::engine::ycsb_parameters;
use super::{Ending, clock_response, own_build_id, result, typed};
use crate::driver::Unit;
use crate::failure::Failure;
use crate::life;
use crate::measure::{Measured, Measurement};
use crate::output::Output;
use crate::protocol::request::{StoreAction, StoreRequest};
use crate::protocol::response::{
    Checked, Phase, Ready, ServerUsage, State, StoreManifest, StoreOptions,
};

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
    let (schedule, clock) = (request.schedule(), Clock::calibrated());
    output.write("phase", &Phase { name: "load" })?;
    let begun = Instant::now();
    let store = open(&ask(request, plan, folder, Opening::Existing))?;
    let open_s = begun.elapsed().as_secs_f64();
    belongs(&*store, plan)?;
    let kinds = kinds_of(plan);
    let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name()).collect();
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &names,
        clock,
        server: None,
        beside: Vec::new(),
    };
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        Ok(Box::new(StoreUnit::new(&*store, plan, thread, &kinds, clock)?))
    };
    let ready = |output: &mut Output| {
        let in_force = store.in_force();
        let manifest = StoreManifest {
            store: request.store.name(),
            library: &in_force.library,
            library_build_id: build_id(&in_force.library),
            version: &in_force.version,
            settings: &in_force.settings,
            threads: schedule.threads,
            cpus: cpus.clone(),
            clock: clock_response(&clock),
            open_s,
            records: plan.keys().readable(),
            log: &in_force.log,
        };
        let (pid, build_id) = (std::process::id(), own_build_id()?);
        output.write("ready", &Ready { verb: "store", pid, build_id: &build_id, manifest })
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let ending = ending(&*store, plan)?;
    let mut result = result(&measurement, &measured, ending)?;
    // Histograms of what never happened.
    result.counters.retain(|name, count| *count > 0 || !is_of_histogram(name));
    result.server = Some(own_usage(&measured));
    // In order, and before anybody is told that it is over.
    drop(store);
    output.write("result", &result)
}

fn is_of_histogram(name: &str) -> bool {
    name.ends_with(".count") || name.ends_with(".sum")
}

fn kinds_of(plan: &Plan) -> Vec<OperationKind> {
    let shares = plan.parameters().mix.shares();
    OperationKind::ALL.into_iter().filter(|kind| shares[*kind as usize] > 0.0).collect()
}

/// None of a file that is no executable, or has none.
fn build_id(library: &Path) -> Option<String> {
    Image::open(library).ok()?.parse().ok()?.build_id
}

/// Looks at all records while the store's memory is as it was in the window.
fn ending(store: &dyn Store, plan: &Plan) -> Result<Ending, Failure> {
    let memory = smaps::touched().ok();
    let shape = Shape::of(plan.parameters());
    let found = look_through(store, shape, plan.keys().readable())?;
    let state = State {
        records: Some(found.records),
        checksum_ok: found.faults.is_empty(),
        faults: found.faults,
    };
    Ok(Ending { latency_of: "operations", ran: Vec::new(), memory, state })
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
