//! Workloads over SQL: run, and what they need on the server.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_load::Error;
use assay_load::clients::Open;
use assay_load::clients::oltp::OltpClient;
use assay_load::clients::tpcc::{self, TpccClient};
use assay_load::clients::trade_desk::{self, TradeDeskClient};
use assay_load::clients::ycsb::{self, YcsbClient};
use assay_load::data::{self, Data, Progress};
use assay_wire::{Target, WireError};
use assay_workload::oltp::{Distribution, Parameters, Plan, Test};
use assay_workload::{tpcc as tpcc_inputs, trade_desk as desk_inputs};

use super::{hits, measure, missing, script};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{
    LoadAction, LoadRequest, LoadTpcc, LoadTradeDesk, LoadWorkload, Oltp, TpccScale,
};
use crate::protocol::response::{DataState, Loading};
use crate::verbs::engine::ycsb_parameters;

/// Sessions that load at the same time.
const LOADERS: usize = 8;
const SECOND: Duration = Duration::from_secs(1);

/// Runs the request over sessions of one protocol.
pub fn run<S: Open>(
    request: &LoadRequest,
    target: &Target,
    output: &mut Output,
) -> Result<(), Failure> {
    match &request.workload {
        LoadWorkload::OltpPointSelect(it) => {
            oltp::<S>(request, target, Test::PointSelect, it, output)
        }
        LoadWorkload::OltpReadOnly(it) => oltp::<S>(request, target, Test::ReadOnly, it, output),
        LoadWorkload::OltpReadWrite(it) => oltp::<S>(request, target, Test::ReadWrite, it, output),
        LoadWorkload::OltpUpdateIndex(it) => {
            oltp::<S>(request, target, Test::UpdateIndex, it, output)
        }
        LoadWorkload::OltpUpdateNonIndex(it) => {
            oltp::<S>(request, target, Test::UpdateNonIndex, it, output)
        }
        LoadWorkload::Ycsb(workload) => {
            let parameters = ycsb_parameters(workload, request.schedule().seed);
            let plan = Arc::new(assay_workload::Plan::new(parameters)?);
            if request.action != LoadAction::Run {
                return act::<S>(&*plan, request, target, output);
            }
            let kinds = ycsb::kinds(&plan);
            let opener = |thread| {
                let inputs = Rc::new(RefCell::new(plan.stream(thread, 0)));
                let plan = Arc::clone(&plan);
                move |handle, _| {
                    let (target, plan, inputs) =
                        (target.clone(), Arc::clone(&plan), Rc::clone(&inputs));
                    async move { YcsbClient::<S>::open(handle, target, &plan, inputs).await }
                }
            };
            measure(request, target, &kinds, opener, output)
        }
        LoadWorkload::Tpcc(workload) => run_tpcc::<S>(request, target, workload, output),
        LoadWorkload::TradeDesk(workload) => run_trade_desk::<S>(request, target, workload, output),
        LoadWorkload::Hits(it) => hits::queries::<S>(request, target, it, output),
        LoadWorkload::Aggregate(it) => hits::aggregate::<S>(request, target, it, output),
        LoadWorkload::HitsUpload(it) => hits::upload::<S>(request, target, it, output),
        LoadWorkload::Script(it) => script::sql::<S>(request, target, it, output),
        LoadWorkload::HttpGet { .. }
        | LoadWorkload::RedisGet(_)
        | LoadWorkload::RedisSet(_)
        | LoadWorkload::MemcachedGet(_)
        | LoadWorkload::MemcachedSet(_) => Err(super::elsewhere(request)),
    }
}

fn oltp<S: Open>(
    request: &LoadRequest,
    target: &Target,
    test: Test,
    asked: &Oltp,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = |it: &Distribution| it.name() == asked.distribution;
    let Some(distribution) = Distribution::ALL.into_iter().find(named) else {
        let names: Vec<_> = Distribution::ALL.iter().map(|it| it.name()).collect();
        return Err(Failure::usage(format!(
            "workload.distribution is {:?}: there is {}",
            asked.distribution,
            names.join(", ")
        )));
    };
    let plan = Plan::new(Parameters {
        tables: asked.tables,
        table_size: asked.table_size,
        skip_trx: asked.skip_trx,
        distribution,
        ..Parameters::defaults(test, request.schedule().seed)
    })?;
    if request.action != LoadAction::Run {
        return act::<S>(&plan, request, target, output);
    }
    let opener = |_| {
        let plan = Rc::new(plan.clone());
        move |handle, number| {
            OltpClient::<S>::open(handle, target.clone(), Rc::clone(&plan), number)
        }
    };
    measure(request, target, &[test.name()], opener, output)
}

fn run_tpcc<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadTpcc,
    output: &mut Output,
) -> Result<(), Failure> {
    let scale = match asked.scale {
        TpccScale::Standard => tpcc_inputs::Scale::standard(asked.warehouses),
        TpccScale::Small => tpcc_inputs::Scale::small(asked.warehouses),
    };
    let wait_scale = asked.wait_scale;
    if !(0.0..=10.0).contains(&wait_scale) {
        return Err(Failure::usage(format!(
            "workload.wait_scale is {wait_scale}: must be from 0 to 10"
        )));
    }
    let seed = request.schedule().seed;
    let standard = tpcc_inputs::Parameters::standard(asked.warehouses, seed);
    let parameters = tpcc_inputs::Parameters { scale, has_waits: asked.waits, ..standard };
    let plan = tpcc_inputs::Plan::new(parameters)?;
    if request.action != LoadAction::Run {
        return act::<S>(&plan, request, target, output);
    }
    let opener = |_| {
        let plan = plan.clone();
        move |handle, number| {
            let (target, plan) = (target.clone(), plan.clone());
            async move { TpccClient::<S>::open(handle, target, &plan, number, wait_scale).await }
        }
    };
    measure(request, target, &tpcc::kinds(), opener, output)
}

fn run_trade_desk<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadTradeDesk,
    output: &mut Output,
) -> Result<(), Failure> {
    let plan = desk_inputs::Plan::new(desk_inputs::Parameters {
        // Refused when there are too many of them.
        users: u16::try_from(request.connections).unwrap_or(u16::MAX),
        accounts: asked.accounts,
        instruments: asked.instruments,
        theta: asked.theta,
        catalogue_share: asked.catalogue_share,
        report_share: 0.0,
        trade_think_time: Duration::from_millis(asked.trade_think_ms),
        request_think_time: Duration::from_millis(asked.request_think_ms),
        seed: request.schedule().seed,
    })?;
    if request.action != LoadAction::Run {
        return act::<S>(&plan, request, target, output);
    }
    let opener = |_| {
        let plan = plan.clone();
        move |handle, number| {
            let (target, plan) = (target.clone(), plan.clone());
            async move { TradeDeskClient::<S>::open(handle, target, &plan, number).await }
        }
    };
    measure(request, target, &trade_desk::kinds(&plan), opener, output)
}

/// What is not a run.
pub fn act<S: Open>(
    plan: &impl Data,
    request: &LoadRequest,
    target: &Target,
    output: &mut Output,
) -> Result<(), Failure> {
    let (stop, begun) = (life::stop_flag(), Instant::now());
    let faults = match request.action {
        LoadAction::Prepare => {
            prepare::<S>(plan, request, target, output)?;
            data::alone::<S, _>(target, stop, async |it| plan.check(it, true).await)
        }
        LoadAction::Check => {
            data::alone::<S, _>(target, stop, async |it| plan.check(it, false).await)
        }
        LoadAction::Clean | LoadAction::Run => {
            data::alone::<S, _>(target, stop, async |it| plan.remove(it).await.map(|()| Vec::new()))
        }
    };
    let faults = faults.map_err(failed)?;
    let rows = plan.rows();
    let seconds = begun.elapsed().as_secs_f64();
    output.write("result", &DataState { rows, seconds, faults })
}

/// Loads, and tells every second how far it is.
fn prepare<S: Open>(
    plan: &impl Data,
    request: &LoadRequest,
    target: &Target,
    output: &mut Output,
) -> Result<(), Failure> {
    let (progress, stop) = (Progress::default(), life::stop_flag());
    let threads = request.schedule().threads;
    let sessions = request.connections.clamp(threads, LOADERS.max(threads));
    std::thread::scope(|scope| {
        let loading =
            scope.spawn(|| data::prepare::<S, _>(plan, target, threads, sessions, &progress, stop));
        let mut told = Instant::now();
        while !loading.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            if told.elapsed() >= SECOND {
                told = Instant::now();
                let rows = progress.rows.load(Ordering::Relaxed);
                output.write("loading", &Loading { rows, of: plan.rows() })?;
            }
        }
        match loading.join() {
            Ok(loaded) => loaded.map_err(failed),
            Err(_) => Err(anyhow::anyhow!("a thread that loads has panicked").into()),
        }
    })
}

/// A server that is not there or refuses is missing; the rest failed.
pub fn failed(error: Error) -> Failure {
    match &error {
        Error::Wire(WireError::Runtime(_) | WireError::Login { .. }) => missing(&error),
        Error::File { .. } => Failure::Missing {
            message: error.to_string(),
            next: "give files that are there and can be read".to_owned(),
        },
        _ => Failure::Failed(error.into()),
    }
}
