//! YCSB's operations on servers of keys and values.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::Handle;
use assay_wire::{ServerErrorKind, Target, WireError};
use assay_workload::hash::fnv1a_64;
use assay_workload::{KeyText, OperationKind, Plan, Stream};

use super::ycsb::take;
use crate::client::{Carried, Client, Error};
use crate::key_value::{KeyValue, count_missing, faults_of, write};
use crate::refusals::Refusal;
use crate::ycsb::{Records, Shape, YcsbError};

/// One connection's operations. The list of inputs is that of its worker.
pub struct YcsbKeyValue<S: KeyValue> {
    session: S,
    inputs: Rc<RefCell<Stream>>,
    /// What operations write, and their acknowledgement; `inputs` may be in use elsewhere meanwhile.
    values: Stream,
    shape: Shape,
    kinds: [usize; OperationKind::ALL.len()],
    batch: S::Batch,
    refusal: Option<Refusal>,
}

impl<S: Records> YcsbKeyValue<S> {
    /// Connects; takes operations from `inputs`, as other connections of its worker.
    ///
    /// # Errors
    /// Those of [`KeyValue::open`].
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        inputs: Rc<RefCell<Stream>>,
    ) -> Result<Self, Error> {
        let session = S::open(&handle, &target).await?;
        let (values, shape) = (plan.without_inputs(), Shape::of(plan));
        let (kinds, batch) = (plan.places(), S::Batch::default());
        Ok(Self { session, inputs, values, shape, kinds, batch, refusal: None })
    }
}

impl<S: Records> Client for YcsbKeyValue<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let operation = take(&self.inputs)?;
        let Self { session, values, shape, batch, .. } = self;
        let ran = session.carry_out(&operation, *shape, values.values(), batch).await;
        if operation.kind == OperationKind::Insert {
            // However it ended: the window of inserts that are not acknowledged would fill up.
            self.values.acknowledge(&operation);
        }
        self.refusal = ran.err().map(refusal_of).transpose()?;
        let is_error = self.refusal.is_some();
        Ok(Carried { is_error, ..Carried::one(self.kinds[operation.kind as usize]) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}

/// A record that is not there counts as an error: a server that evicts goes on without it.
fn refusal_of(error: YcsbError) -> Result<Refusal, Error> {
    match error {
        YcsbError::Wire(error) => Ok(Refusal::of(error)?),
        YcsbError::Missing { .. } => {
            let (code, message) = ("missing".to_owned(), error.to_string());
            Ok(Refusal { kind: ServerErrorKind::Other, code, message })
        }
        wrong => Err(Error::Data(wrong.to_string())),
    }
}

/// The keys of a plan's records.
fn keys(plan: &Plan) -> impl Iterator<Item = u64> {
    (0..plan.parameters().records).map(fnv1a_64)
}

/// Writes all records of a plan; what is wrong with them then.
///
/// # Errors
/// Those of the session.
pub async fn load<S: Records>(session: &mut S, plan: &Plan) -> Result<Vec<String>, WireError> {
    let shape = Shape::of(plan);
    let insert = |batch: &mut S::Batch, key| S::insert(key, shape, plan.values(), batch);
    write(session, shape.fields * shape.field_bytes, keys(plan), insert).await?;
    check(session, plan).await
}

/// What is wrong with the records of a plan: which of them are not there.
///
/// # Errors
/// Those of the session.
pub async fn check<S: Records>(session: &mut S, plan: &Plan) -> Result<Vec<String>, WireError> {
    let missing = count_missing(session, keys(plan).map(KeyText::new)).await?;
    Ok(faults_of(missing, plan.parameters().records))
}

/// Removes all records of a plan.
///
/// # Errors
/// Those of the session.
pub async fn remove<S: Records>(session: &mut S, plan: &Plan) -> Result<(), WireError> {
    let delete = |batch: &mut S::Batch, key| S::delete(batch, KeyText::new(key).as_bytes());
    write(session, 0, keys(plan), delete).await
}
