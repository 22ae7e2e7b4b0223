//! Servers of keys and values: single commands, and YCSB.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use assay_load::Error;
pub use assay_load::clients::key_value::Command;
use assay_load::clients::key_value::{self as client, Commands, KeyValueClient};
use assay_load::clients::ycsb::kinds;
use assay_load::clients::ycsb_key_value::{self as records, YcsbKeyValue};
use assay_load::key_value::KeyValue as Server;
use assay_load::ycsb::Records;
use assay_primitives::Clock;
use assay_runtime::Worker;
use assay_wire::{Target, WireError};
use assay_workload::{Mix, Plan};

use super::{measure, sql};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{KeyValue, LoadAction, LoadRequest, Ycsb};
use crate::protocol::response::DataState;
use crate::verbs::engine::ycsb_parameters;

const PIPELINE_MAX: u32 = 10_000;
const VALUE_BYTES_MAX: usize = 1 << 26;

/// Runs single commands, or makes, looks for or removes their keys.
pub fn commands<S: Server>(
    request: &LoadRequest,
    target: &Target,
    command: Command,
    workload: &KeyValue,
    output: &mut Output,
) -> Result<(), Failure> {
    let KeyValue { keys, value_bytes, pipeline } = *workload;
    let ranges = [
        ("keys", keys, 1, 1_000_000_000_000),
        ("value_bytes", value_bytes as u64, 0, VALUE_BYTES_MAX as u64),
        ("pipeline", pipeline.into(), 1, PIPELINE_MAX.into()),
    ];
    for (name, value, low, high) in ranges {
        if !(low..=high).contains(&value) {
            let message = format!("workload.{name} is {value}: must be from {low} to {high}");
            return Err(Failure::usage(message));
        }
    }
    let commands = Commands { command, keys, value_bytes, pipeline };
    if request.action != LoadAction::Run {
        return keep::<S>(keys, target, output, async |server| match request.action {
            LoadAction::Prepare => client::load(server, commands).await,
            LoadAction::Check => client::check(server, commands).await,
            LoadAction::Clean | LoadAction::Run => {
                client::remove(server, commands).await.map(|()| Vec::new())
            }
        });
    }
    let seed = request.schedule().seed;
    let open =
        |handle, number| KeyValueClient::<S>::open(handle, target.clone(), commands, seed, number);
    measure(request, target, &[command.name()], |_| open, output)
}

/// Runs a mix of YCSB, or makes, looks for or removes its records.
pub fn ycsb<S: Records>(
    request: &LoadRequest,
    target: &Target,
    workload: &Ycsb,
    output: &mut Output,
) -> Result<(), Failure> {
    if workload.mix == Mix::E {
        let protocol = request.target.protocol;
        return Err(Failure::usage(format!(
            "workload.mix is e: scans need an order of keys, which a server of {protocol:?} does not \
             have here"
        )));
    }
    let plan = Arc::new(Plan::new(ycsb_parameters(workload, request.schedule().seed))?);
    if request.action != LoadAction::Run {
        let rows = plan.parameters().records;
        return keep::<S>(rows, target, output, async |server| match request.action {
            LoadAction::Prepare => records::load(server, &plan).await,
            LoadAction::Check => records::check(server, &plan).await,
            LoadAction::Clean | LoadAction::Run => {
                records::remove(server, &plan).await.map(|()| Vec::new())
            }
        });
    }
    let kinds = kinds(&plan);
    let opener = |thread| {
        let inputs = Rc::new(RefCell::new(plan.stream(thread, 0)));
        let plan = Arc::clone(&plan);
        move |handle, _| {
            let (target, plan, inputs) = (target.clone(), Arc::clone(&plan), Rc::clone(&inputs));
            async move { YcsbKeyValue::<S>::open(handle, target, &plan, inputs).await }
        }
    };
    measure(request, target, &kinds, opener, output)
}

/// What is not a run: makes, looks for or removes `rows`, by one session.
fn keep<S: Server>(
    rows: u64,
    target: &Target,
    output: &mut Output,
    work: impl AsyncFnOnce(&mut S) -> Result<Vec<String>, WireError>,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let worker = Worker::new(Clock::calibrated()).map_err(anyhow::Error::from)?;
    let handle = worker.handle();
    let working = async {
        let mut session = S::open(&handle, target).await?;
        Ok(work(&mut session).await?)
    };
    let done = worker.block_on(working, life::stop_flag()).map_err(anyhow::Error::from)?;
    let faults = done.unwrap_or(Err(Error::Stopped)).map_err(sql::failed)?;
    let seconds = begun.elapsed().as_secs_f64();
    output.write("result", &DataState { rows, seconds, faults })
}
