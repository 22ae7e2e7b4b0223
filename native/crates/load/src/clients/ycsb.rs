//! YCSB's operations over SQL.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::Handle;
use assay_wire::Target;
use assay_workload::{Operation, OperationKind, Plan, Stream};

use super::Open;
use crate::client::{Carried, Client, Error};
use crate::refusals::Refusal;
use crate::ycsb::YcsbError;
use crate::ycsb::sql::{Statements, Verify, run};

/// One connection's operations. The list of inputs is that of its worker.
pub struct YcsbClient<S> {
    session: S,
    statements: Statements,
    inputs: Rc<RefCell<Stream>>,
    /// What operations write, and their acknowledgement; `inputs` may be in use elsewhere meanwhile.
    values: Stream,
    kinds: [usize; OperationKind::ALL.len()],
    refusal: Option<Refusal>,
}

impl<S: Open> YcsbClient<S> {
    /// Connects and prepares; takes operations from `inputs`, as other connections of its worker.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        inputs: Rc<RefCell<Stream>>,
    ) -> Result<Self, Error> {
        let mut session = S::open(&handle, &target).await?;
        let statements = Statements::prepare(&mut session, plan).await?;
        let (values, kinds) = (plan.without_inputs(), plan.places());
        Ok(Self { session, statements, inputs, values, kinds, refusal: None })
    }
}

/// The names of the kinds of operation of a plan's mix.
pub fn kinds(plan: &Plan) -> Vec<&'static str> {
    plan.kinds().into_iter().map(OperationKind::name).collect()
}

/// The next operation of a worker's list.
pub(super) fn take(inputs: &RefCell<Stream>) -> Result<Operation, Error> {
    let full = || Error::Data("the key space is full: raise operations, which sizes it".to_owned());
    inputs.borrow_mut().take().ok_or_else(full)
}

impl<S: Open> Client for YcsbClient<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let operation = take(&self.inputs)?;
        let Self { session, statements, values, .. } = self;
        let ran = run(session, statements, values, &operation, Verify::Values);
        self.refusal = match ran.await {
            Ok(_) => None,
            Err(YcsbError::Wire(error)) => Some(Refusal::of(error)?),
            Err(wrong) => return Err(Error::Data(wrong.to_string())),
        };
        let is_error = self.refusal.is_some();
        let kind = self.kinds[operation.kind as usize];
        Ok(Carried { is_error, ..Carried::one(kind) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    async fn close(self) {
        self.session.close().await;
    }
}
