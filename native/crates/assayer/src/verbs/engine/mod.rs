//! The verb `engine`: a workload on the embedded engine. Which part of it runs, workload and parts
//! say together: queries, the key-value store, or transactions.

mod aggregate;
mod key_value;
mod transactional;

use assay_engine::transactional::{CcChoice, Combination, Demand};
use assay_workload::Mix;
use serde_json::Value;

pub use self::key_value::parameters as ycsb_parameters;
use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{EngineRequest, EngineWorkload};

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    let request: EngineRequest = typed(request)?;
    request.schedule().validate()?;
    match &request.workload {
        EngineWorkload::Aggregate(workload) => aggregate::run(&request, workload, output),
        EngineWorkload::Ycsb(workload) => {
            let is_scanned = workload.mix == Mix::E;
            require(&request, if is_scanned { Demand::Scans } else { Demand::Rows })?;
            match request.parts.cc {
                CcChoice::RowLock => key_value::run(&request, workload, output),
                CcChoice::Of(_) => transactional::ycsb(&request, workload, output),
            }
        }
        EngineWorkload::Tpcc(workload) => {
            require(&request, Demand::Transactions)?;
            transactional::tpcc(&request, workload, output)
        }
        EngineWorkload::TradeDesk(workload) => {
            require(&request, Demand::Transactions)?;
            transactional::trade_desk(&request, workload, output)
        }
    }
}

/// Refuses parts that are not built together.
fn require(request: &EngineRequest, demand: Demand) -> Result<(), Failure> {
    let parts = &request.parts;
    let combination = Combination {
        index: parts.index,
        cc: parts.cc,
        store: parts.store,
        hash_cache: parts.hash_cache,
        log: parts.log,
    };
    Ok(combination.require(demand)?)
}
