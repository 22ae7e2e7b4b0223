//! Analytical queries, and uploads of the rows that they are asked of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_runtime::Handle;
use assay_wire::{Target, WireError};
use assay_workload::WorkloadError;
use assay_workload::hits::Plan;

use super::Open;
use crate::client::{Carried, Client, Error};
use crate::hits::Work;
use crate::hits::answers::ask;
use crate::hits::schema::UPLOAD_TABLE;
use crate::refusals::Refusal;

/// One connection's queries: all in order, over again. Every answer is compared.
pub struct HitsClient<S> {
    session: S,
    work: Arc<Work>,
    next: usize,
    refusal: Option<Refusal>,
}

impl<S: Open> HitsClient<S> {
    /// Connects.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(handle: Handle, target: Target, work: Arc<Work>) -> Result<Self, Error> {
        let session = S::open(&handle, &target).await?;
        Ok(Self { session, work, next: 0, refusal: None })
    }
}

impl<S: Open> Client for HitsClient<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let kind = self.next;
        let asked = &self.work.asked()[kind];
        self.next = (kind + 1) % self.work.asked().len();
        let is_error = match ask(&mut self.session, &asked.text).await {
            Ok(answer) => {
                asked.check(answer)?;
                false
            }
            Err(error) => {
                self.refusal = Some(Refusal::of(error)?);
                true
            }
        };
        Ok(Carried { is_error, ..Carried::one(kind) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    async fn close(self) {
        self.session.close().await;
    }
}

/// Batches of rows, made beforehand: making them is no part of an upload.
#[derive(Debug)]
pub struct Batches {
    batches: Vec<String>,
    rows_per_batch: u64,
    next: AtomicUsize,
}

/// Bounds of a batch, and of what is made beforehand.
const ROWS_PER_BATCH: std::ops::RangeInclusive<u64> = 1..=20_000;
const ROWS_MAX: u64 = 1_000_000;

/// An upload's rows, checked.
#[derive(Clone, Debug)]
pub struct Upload {
    plan: Plan,
    pub(super) rows_per_batch: u64,
}

impl Upload {
    /// Batches of so many rows of a plan, over again.
    ///
    /// # Errors
    /// `OutOfRange`, and `Conflict` when the last batch would be shorter than the others.
    pub fn new(plan: Plan, rows_per_batch: u64) -> Result<Self, WorkloadError> {
        validate(plan.parameters().rows, rows_per_batch)?;
        Ok(Self { plan, rows_per_batch })
    }
}

fn validate(rows: u64, rows_per_batch: u64) -> Result<(), WorkloadError> {
    let out_of_range = |name, value: u64, allowed| {
        Err(WorkloadError::OutOfRange { name, value: value.to_string(), allowed })
    };
    if rows > ROWS_MAX {
        return out_of_range("rows", rows, "from 10,000 to 1,000,000: they are made beforehand");
    }
    if !ROWS_PER_BATCH.contains(&rows_per_batch) {
        return out_of_range("rows_per_batch", rows_per_batch, "from 1 to 20,000");
    }
    if !rows.is_multiple_of(rows_per_batch) {
        let message = "workload.rows is no multiple of workload.rows_per_batch";
        return Err(WorkloadError::Conflict(message));
    }
    Ok(())
}

impl Batches {
    /// Makes all batches, about 350 bytes a row, as a protocol wants them.
    ///
    /// # Errors
    /// Those of the protocol.
    pub fn make<S: Open>(upload: &Upload) -> Result<Self, WireError> {
        let Upload { plan, rows_per_batch } = upload;
        let rows_per_batch = *rows_per_batch;
        let (mut scratch, mut lines) = (String::new(), Vec::new());
        let firsts = (0..plan.parameters().rows).step_by(rows_per_batch as usize);
        let batch = |first: u64| {
            lines.clear();
            for row in first..first + rows_per_batch {
                plan.row(row).write_tsv(&mut scratch, &mut lines);
            }
            S::batch_of(UPLOAD_TABLE, &lines)
        };
        let batches = firsts.map(batch).collect::<Result<_, _>>()?;
        Ok(Self { batches, rows_per_batch, next: AtomicUsize::new(0) })
    }

    /// The next batch of whichever connection asks; after the last comes the first.
    fn take(&self) -> &str {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        &self.batches[next % self.batches.len()]
    }
}

/// One connection's uploads.
pub struct UploadClient<S> {
    session: S,
    batches: Arc<Batches>,
    refusal: Option<Refusal>,
}

impl<S: Open> UploadClient<S> {
    /// Connects.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        batches: Arc<Batches>,
    ) -> Result<Self, Error> {
        let session = S::open(&handle, &target).await?;
        Ok(Self { session, batches, refusal: None })
    }
}

impl<S: Open> Client for UploadClient<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let Self { session, batches, refusal } = self;
        let added = session.add_batch(UPLOAD_TABLE, batches.take()).await;
        let is_error = match added {
            Ok(rows) if rows == batches.rows_per_batch => false,
            Ok(rows) => {
                let sent = batches.rows_per_batch;
                return Err(Error::Data(format!("a batch of {sent} rows added {rows}")));
            }
            Err(error) => {
                *refusal = Some(Refusal::of(error)?);
                true
            }
        };
        Ok(Carried { is_error, ..Carried::one(0) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    async fn close(self) {
        self.session.close().await;
    }
}
