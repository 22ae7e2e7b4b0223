//! Analytical queries over the table of page views, and uploads of its rows.

use std::sync::Arc;

use assay_load::clients::Open;
use assay_load::clients::hits::{Batches, HitsClient, Upload, UploadClient};
use assay_load::data::Data;
use assay_load::hits::{Checkout, Work};
use assay_wire::Target;
use assay_workload::hits::{Parameters, Plan};

use super::{measure, sql};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{
    LoadAction, LoadAggregate, LoadHits, LoadHitsCheckout, LoadHitsUpload, LoadRequest,
    LoadWorkload,
};
use assay_measure::Measured;

/// Sums of one query, at most: PostgreSQL has 1,664 columns in a row.
const SUMS_MAX: usize = 1_600;
const ALL: &str = "all";

fn plan(rows: u64, request: &LoadRequest) -> Result<Plan, Failure> {
    Ok(Plan::new(Parameters { rows, seed: request.schedule().seed })?)
}

/// Runs queries in order, or makes, checks or removes the table.
pub fn queries<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadHits,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(files) = &asked.checkout {
        let LoadHitsCheckout { create, queries, data } = files.clone();
        let checkout = Checkout::new(create, queries, data).map_err(sql::failed)?;
        let work = || checkout.work().map_err(sql::failed);
        return act_or_ask::<S>(&checkout, work, &asked.query, request, target, output);
    }
    let plan = plan(asked.rows, request)?;
    act_or_ask::<S>(&plan, || Ok(Work::hits(&plan)), &asked.query, request, target, output)
}

/// Runs one query of many sums, or makes, checks or removes the table.
pub fn aggregate<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadAggregate,
    output: &mut Output,
) -> Result<(), Failure> {
    let sums = asked.sums;
    if !(1..=SUMS_MAX).contains(&sums) {
        let message = format!("workload.sums is {sums}: must be from 1 to {SUMS_MAX}");
        return Err(Failure::usage(message));
    }
    let plan = plan(asked.rows, request)?;
    let work = || Ok(Work::aggregate(&plan, sums));
    act_or_ask::<S>(&plan, work, ALL, request, target, output)
}

/// Fills an empty table by batches, or makes, checks or removes it.
pub fn upload<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadHitsUpload,
    output: &mut Output,
) -> Result<(), Failure> {
    let upload = Upload::new(plan(asked.rows, request)?, asked.rows_per_batch)?;
    if request.action != LoadAction::Run {
        return sql::act::<S>(&upload, request, target, output);
    }
    let batches = Batches::make::<S>(&upload).map_err(|error| sql::failed(error.into()))?;
    let batches = Arc::new(batches);
    let opener = |_| {
        let batches = Arc::clone(&batches);
        move |handle, _| UploadClient::<S>::open(handle, target.clone(), Arc::clone(&batches))
    };
    measure(request, target, &["batch"], opener, output)
}

fn act_or_ask<S: Open>(
    data: &impl Data,
    work: impl FnOnce() -> Result<Work, Failure>,
    query: &str,
    request: &LoadRequest,
    target: &Target,
    output: &mut Output,
) -> Result<(), Failure> {
    if request.action != LoadAction::Run {
        return sql::act::<S>(data, request, target, output);
    }
    let mut work = work()?;
    if query != ALL {
        let most = work.asked().len();
        work = work.only(query).ok_or_else(|| {
            let last = assay_load::hits::answers::name(most - 1);
            let message = format!("workload.query is {query:?}: must be all, or q01 to {last}");
            Failure::usage(message)
        })?;
    }
    let (kinds, work) = (work.kinds(), Arc::new(work));
    let opener = |_| {
        let work = Arc::clone(&work);
        move |handle, _| HitsClient::<S>::open(handle, target.clone(), Arc::clone(&work))
    };
    measure(request, target, &kinds, opener, output)
}

/// Refuses a window in which nothing ended: a query may take longer, and is then not counted.
pub fn ended_one(request: &LoadRequest, measured: &Measured) -> Result<(), Failure> {
    let takes_long = matches!(
        request.workload,
        LoadWorkload::Hits(_) | LoadWorkload::Aggregate(_) | LoadWorkload::HitsUpload(_)
    );
    if !takes_long || !measured.is_complete || measured.recording.operations() > 0 {
        return Ok(());
    }
    let seconds = measured.window_s;
    Err(Failure::Usage {
        message: format!("nothing ended in the window of {seconds:.3} s: a query takes longer"),
        next: "take a longer window_ms, fewer workload.rows, or one workload.query".to_owned(),
    })
}
