//! YCSB's records in servers of keys and values.

use assay_workload::{Operation, Plan, Values};

use super::YcsbError;
use crate::key_value::KeyValue;

/// What a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many fields.
    pub fields: usize,
    /// Bytes of each.
    pub field_bytes: usize,
}

impl Shape {
    /// Of a plan's records.
    pub fn of(plan: &Plan) -> Self {
        let parameters = plan.parameters();
        Self { fields: parameters.fields, field_bytes: parameters.field_bytes }
    }
}

/// A session with a server that keeps records.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Records: KeyValue {
    /// Appends what adds a record with its initial values, or writes it anew.
    fn insert(key: u64, shape: Shape, values: &Values, batch: &mut Self::Batch);

    /// Carries out one operation, in memory that the caller keeps. A read-modify-write sends its
    /// write when the read was answered. Inserts are acknowledged to the stream by the caller.
    ///
    /// # Errors
    /// `Unsupported` for scans; `Missing` and `Wrong` for what came back, where it is looked at.
    async fn carry_out(
        &mut self,
        operation: &Operation,
        shape: Shape,
        values: &Values,
        batch: &mut Self::Batch,
    ) -> Result<(), YcsbError>;
}
