//! The operations of a race: drawn once per mix and thread, the same for every contestant.

use std::sync::Arc;

use anyhow::{Context, Result};
use assay_workload::ycsb::Parameters;
use assay_workload::zipf::YCSB_THETA;
use assay_workload::{Chooser, Mix, Operation, Plan, Values};

use crate::peer::{BATCH, Records, Shape};

/// What decides the inputs.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The sizes.
    pub shape: Shape,
    /// The mix; one that neither inserts nor scans.
    pub mix: Mix,
    /// Lists of operations, one per thread.
    pub threads: usize,
    /// Operations in each list; rounded down to whole batches.
    pub operations: usize,
    /// The seed.
    pub seed: u64,
}

/// The operations of one mix.
#[derive(Debug)]
pub struct Inputs {
    shape: Shape,
    lists: Vec<Vec<Operation>>,
    values: Arc<Values>,
}

impl Inputs {
    /// Draws them.
    pub fn new(draw: &Draw) -> Result<Self> {
        let Draw { shape, mix, threads, operations, seed } = *draw;
        let plan = Plan::new(Parameters {
            mix,
            records: shape.records,
            fields: shape.fields,
            field_bytes: shape.field_bytes,
            chooser: Chooser::Scrambled10e10,
            theta: YCSB_THETA,
            operations: 0,
            max_scan: 1,
            seed,
        })?;
        let operations = (operations / BATCH).max(1) * BATCH;
        let list = |thread| {
            let mut stream = plan.stream(thread, 0);
            let taken: Option<Vec<_>> = (0..operations).map(|_| stream.take()).collect();
            taken.context("a race has no inserts")
        };
        let lists = (0..threads).map(list).collect::<Result<_>>()?;
        Ok(Self { shape, lists, values: Arc::clone(plan.values()) })
    }

    /// The operations of one thread, in whole batches.
    pub fn list(&self, thread: usize) -> &[Operation] {
        &self.lists[thread]
    }

    /// The pool of field values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// What must be loaded for these operations.
    pub fn records(&self) -> Records<'_> {
        Records { shape: self.shape, values: &self.values }
    }
}
