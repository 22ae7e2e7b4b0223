//! YCSB over RESP.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use assay_load::clients::ycsb::kinds;
use assay_load::clients::ycsb_redis::{self, YcsbRedis};
use assay_wire::Target;
use assay_workload::{Mix, Plan};

use super::{keep, measure};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{LoadAction, LoadRequest, Ycsb};
use crate::verbs::engine::ycsb_parameters;

/// Runs the mix, or makes or removes its records.
pub fn run(
    request: &LoadRequest,
    target: &Target,
    workload: &Ycsb,
    output: &mut Output,
) -> Result<(), Failure> {
    if workload.mix == Mix::E {
        return Err(Failure::usage(
            "workload.mix is e: scans need an order of keys, which Redis does not have here",
        ));
    }
    let plan = Arc::new(Plan::new(ycsb_parameters(workload, request.schedule().seed))?);
    if request.action != LoadAction::Run {
        return act(request, target, &plan, output);
    }
    let kinds = kinds(&plan);
    let opener = |thread| {
        let inputs = Rc::new(RefCell::new(plan.stream(thread, 0)));
        let plan = Arc::clone(&plan);
        move |handle, _| {
            let (target, plan, inputs) = (target.clone(), Arc::clone(&plan), Rc::clone(&inputs));
            async move { YcsbRedis::open(handle, target, &plan, inputs).await }
        }
    };
    measure(request, target, &kinds, opener, output)
}

fn act(
    request: &LoadRequest,
    target: &Target,
    plan: &Plan,
    output: &mut Output,
) -> Result<(), Failure> {
    keep(plan.parameters().records, output, async |handle| match request.action {
        LoadAction::Prepare => ycsb_redis::load(handle, target, plan, &AtomicU64::new(0)).await,
        LoadAction::Clean => ycsb_redis::remove(handle, target, plan).await,
        LoadAction::Check | LoadAction::Run => Ok(()),
    })
}
