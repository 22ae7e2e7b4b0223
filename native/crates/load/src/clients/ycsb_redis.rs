//! YCSB's operations over RESP, a hash per record.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_runtime::Handle;
use assay_wire::Target;
use assay_wire::resp::{Session, codec};
use assay_workload::hash::fnv1a_64;
use assay_workload::{Operation, OperationKind, Plan, Stream};

use super::ycsb::{places, take};
use crate::client::{Carried, Client, Error};
use crate::refusals::Refusal;
use crate::ycsb::{KeyText, YcsbError, resp};

/// Records that are written or removed in one go.
const BATCH: u64 = 64;

/// One connection's operations. The list of inputs is that of its worker.
pub struct YcsbRedis {
    session: Session,
    inputs: Rc<RefCell<Stream>>,
    values: Stream,
    fields: usize,
    kinds: [usize; OperationKind::ALL.len()],
    batch: Vec<u8>,
    refusal: Option<Refusal>,
}

impl YcsbRedis {
    /// Connects; takes operations from `inputs`, as other connections of its worker.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        inputs: Rc<RefCell<Stream>>,
    ) -> Result<Self, Error> {
        let session = Session::open(&handle, &target).await?;
        let (values, fields) = (plan.without_inputs(), plan.parameters().fields);
        let (kinds, batch) = (places(plan), Vec::new());
        Ok(Self { session, inputs, values, fields, kinds, batch, refusal: None })
    }

    /// A read-modify-write sends its write when the read was answered.
    async fn run(&mut self, operation: &Operation) -> Result<(), Error> {
        self.batch.clear();
        let key = operation.key;
        if operation.kind == OperationKind::ReadModifyWrite {
            resp::read(key, &mut self.batch);
            self.session.exchange(&self.batch, 1, |_| ()).await?;
            self.batch.clear();
            let value = self.values.value(operation);
            resp::update(key, usize::from(operation.field), value, &mut self.batch);
        } else {
            let values = self.values.values();
            resp::encode(operation, self.fields, values, &mut self.batch).map_err(unsupported)?;
        }
        self.session.exchange(&self.batch, 1, |_| ()).await?;
        if operation.kind == OperationKind::Insert {
            self.values.acknowledge(operation);
        }
        Ok(())
    }
}

impl Client for YcsbRedis {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let operation = take(&self.inputs)?;
        self.refusal = match self.run(&operation).await {
            Ok(()) => None,
            Err(Error::Wire(error)) => Some(Refusal::of(error)?),
            Err(error) => return Err(error),
        };
        let is_error = self.refusal.is_some();
        Ok(Carried { is_error, ..Carried::one(self.kinds[operation.kind as usize]) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}

fn unsupported(error: YcsbError) -> Error {
    Error::Data(error.to_string())
}

/// Writes all records of a plan; counts them into `rows`.
///
/// # Errors
/// Those of the session.
pub async fn load(
    handle: &Handle,
    target: &Target,
    plan: &Plan,
    rows: &AtomicU64,
) -> Result<(), Error> {
    let (values, fields) = (plan.without_inputs(), plan.parameters().fields);
    each_batch(handle, target, plan, rows, |key, batch| {
        resp::insert(key, fields, values.values(), batch);
    })
    .await
}

/// Removes all records of a plan.
///
/// # Errors
/// Those of the session.
pub async fn remove(handle: &Handle, target: &Target, plan: &Plan) -> Result<(), Error> {
    each_batch(handle, target, plan, &AtomicU64::new(0), |key, batch| {
        codec::command(batch, &[b"DEL", KeyText::new(key).as_bytes()]);
    })
    .await
}

async fn each_batch(
    handle: &Handle,
    target: &Target,
    plan: &Plan,
    rows: &AtomicU64,
    command: impl Fn(u64, &mut Vec<u8>),
) -> Result<(), Error> {
    let mut session = Session::open(handle, target).await?;
    let (records, mut batch) = (plan.parameters().records, Vec::new());
    for first in (0..records).step_by(BATCH as usize) {
        let numbers = first..(first + BATCH).min(records);
        let count = numbers.end - numbers.start;
        batch.clear();
        numbers.for_each(|number| command(fnv1a_64(number), &mut batch));
        session.exchange(&batch, count as usize, |_| ()).await?;
        rows.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}
