//! The verb `engine`: a workload on the embedded engine. Which half of it runs, the workload says.

mod aggregate;
mod key_value;

use serde_json::Value;

use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{EngineRequest, EngineWorkload};

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    let request: EngineRequest = typed(request)?;
    request.schedule().validate()?;
    match &request.workload {
        EngineWorkload::Ycsb(workload) => key_value::run(&request, workload, output),
        EngineWorkload::Aggregate(workload) => aggregate::run(&request, workload, output),
    }
}
