//! Commands of Redis.

use std::sync::atomic::AtomicU64;

pub use assay_load::clients::redis::Command;
use assay_load::clients::redis::{self as client, Commands, RedisClient};
use assay_wire::Target;

use super::{keep, measure};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{LoadAction, LoadRequest, Redis};

const PIPELINE_MAX: u32 = 10_000;
const VALUE_BYTES_MAX: usize = 1 << 26;

/// Runs single commands, or makes or removes their keys.
pub fn run(
    request: &LoadRequest,
    target: &Target,
    command: Command,
    workload: &Redis,
    output: &mut Output,
) -> Result<(), Failure> {
    let Redis { keys, value_bytes, pipeline } = *workload;
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
        return keep(keys, output, async |handle| match request.action {
            LoadAction::Prepare => client::load(handle, target, commands, &AtomicU64::new(0)).await,
            LoadAction::Clean => client::remove(handle, target, commands).await,
            LoadAction::Check | LoadAction::Run => Ok(()),
        });
    }
    let seed = request.schedule().seed;
    let open = |handle, number| RedisClient::open(handle, target.clone(), commands, seed, number);
    measure(request, target, &[command.name()], |_| open, output)
}
