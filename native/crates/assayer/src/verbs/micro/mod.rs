//! The verb `micro`: one primitive alone, in the same frame as the engine.

mod atomic;
mod buffers;
mod call;
mod chase;
mod compress;
mod counters;
mod crc32c;
mod frame;
mod hash;
mod lock;
mod order;
mod simd;
mod timer;
mod unaligned;
mod words;

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
        MicroWorkload::Atomic(workload) => atomic::run(&request, workload, output),
        MicroWorkload::Order(workload) => order::run(&request, workload, output),
        MicroWorkload::Counters(_) => counters::run(&request, output),
        MicroWorkload::Call(_) => call::run(&request, output),
        MicroWorkload::Chase(workload) => chase::run(&request, workload, output),
        MicroWorkload::Unaligned(_) => unaligned::run(&request, output),
        MicroWorkload::Timer(_) => timer::run(&request, output),
        MicroWorkload::Hash(workload) => hash::run(&request, workload, output),
        MicroWorkload::Compress(workload) => compress::run(&request, workload, output),
        MicroWorkload::Simd(workload) => simd::run(&request, workload, output),
    }
}
