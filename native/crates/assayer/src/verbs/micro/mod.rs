//! The verb `micro`: one primitive alone, in the same frame as the engine.

mod crc32c;
mod lock;

use serde_json::Value;

use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{MicroRequest, MicroWorkload};

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    let request: MicroRequest = typed(request)?;
    request.schedule().validate()?;
    match &request.workload {
        MicroWorkload::Lock(workload) => lock::run(&request, workload, output),
        MicroWorkload::Crc32c(workload) => crc32c::run(&request, workload, output),
    }
}
