//! Filling a folder with the records of a workload.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_stores::{Opening, Shape, Store, StoreError, look_through, open};
use assay_workload::Plan;
use assay_workload::hash::fnv1a_64;

use super::ask;
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::StoreRequest;
use crate::protocol::response::{DataState, Loading};

/// Records that are written in one go.
const BATCH: u64 = 500;
const SECOND: Duration = Duration::from_secs(1);

/// Runs the action.
pub fn run(
    request: &StoreRequest,
    plan: &Plan,
    folder: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let store = open(&ask(request, plan, folder, Opening::Create))?;
    load(&*store, plan, output)?;
    store.settle(life::stop_flag())?;
    let records = plan.parameters().records;
    let found = look_through(&*store, Shape::of(plan.parameters()), records)?;
    drop(store);
    let seconds = begun.elapsed().as_secs_f64();
    output.write("result", &DataState { rows: found.records, seconds, faults: found.faults })
}

/// Writes all records, in the order of their numbers, and tells every second how far it is.
fn load(store: &dyn Store, plan: &Plan, output: &mut Output) -> Result<(), Failure> {
    let (records, shape) = (plan.parameters().records, Shape::of(plan.parameters()));
    let mut session = store.session()?;
    let mut told = Instant::now();
    let mut keys = Vec::with_capacity(BATCH as usize);
    for first in (0..records).step_by(BATCH as usize) {
        if life::stop_flag().load(std::sync::atomic::Ordering::Relaxed) {
            return Err(StoreError::Stopped.into());
        }
        keys.clear();
        keys.extend((first..(first + BATCH).min(records)).map(fnv1a_64));
        session.load(&keys, shape, plan.values())?;
        if told.elapsed() >= SECOND {
            told = Instant::now();
            output.write("loading", &Loading { rows: first + keys.len() as u64, of: records })?;
        }
    }
    Ok(())
}
