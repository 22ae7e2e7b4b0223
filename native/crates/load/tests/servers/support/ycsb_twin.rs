//! The slow twin of whatever YCSB runs on.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_workload::hash::fnv1a_64;
use assay_workload::{Chooser, Mix, Operation, OperationKind, Parameters, Plan, Values};

pub const RECORDS: u64 = 150;
pub const OPERATIONS: usize = 150;

pub fn parameters(mix: Mix) -> Parameters {
    Parameters {
        mix,
        records: RECORDS,
        fields: 10,
        field_bytes: 100,
        chooser: Chooser::Scrambled10e10,
        theta: 0.99,
        operations: OPERATIONS as u64,
        max_scan: 20,
        seed: 9,
    }
}

/// The table as a map from key texts to fields.
pub struct Twin {
    pub records: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    values: Arc<Values>,
    fields: usize,
}

impl Twin {
    pub fn new(plan: &Plan) -> Self {
        let (values, fields) = (Arc::clone(plan.values()), plan.parameters().fields);
        let mut twin = Self { records: BTreeMap::new(), values, fields };
        (0..plan.parameters().records).for_each(|number| twin.insert(fnv1a_64(number)));
        twin
    }

    fn insert(&mut self, key: u64) {
        let fields = (0..self.fields).map(|field| self.values.initial(key, field).to_vec());
        self.records.insert(format!("user{key}").into_bytes(), fields.collect());
    }

    /// Returns how many records are read.
    pub fn run(&mut self, operation: &Operation) -> u64 {
        let key = format!("user{}", operation.key).into_bytes();
        match operation.kind {
            OperationKind::Read => return self.records.contains_key(&key).into(),
            OperationKind::Scan => {
                let records = self.records.range(key..);
                return records.take(operation.length.into()).count() as u64;
            }
            OperationKind::Insert => self.insert(operation.key),
            OperationKind::Update | OperationKind::ReadModifyWrite => {
                let value = self.values.value(operation.value.into()).to_vec();
                self.records.get_mut(&key).unwrap()[usize::from(operation.field)] = value;
            }
        }
        u64::from(operation.kind == OperationKind::ReadModifyWrite)
    }
}
