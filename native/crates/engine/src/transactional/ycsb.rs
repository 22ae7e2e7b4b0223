//! YCSB as a job: one table, one row a record, every operation a transaction.

use assay_workload::hash::fnv1a_64;
use assay_workload::tables::{AbortCause, Direction, TableId, TableSchema, Tables};
use assay_workload::values::is_whole;
use assay_workload::{Mix, Operation, OperationKind, Plan, Stream};

use super::job::{Job, Sink, Taken};
use crate::EngineError;

const TABLE: TableId = TableId(0);
/// Records in a piece of the load.
const PIECE: u64 = 1 << 14;

/// YCSB over one table.
pub struct Ycsb {
    plan: Plan,
    schema: [TableSchema; 1],
    kinds: Vec<&'static str>,
    /// From a kind of operation to its place among the kinds of this mix.
    place_of_kind: [usize; OperationKind::ALL.len()],
}

impl Ycsb {
    /// The workload of a plan.
    pub fn new(plan: Plan) -> Self {
        let shape = plan.parameters();
        let row_bytes = (shape.fields * shape.field_bytes).next_multiple_of(8);
        let shares = shape.mix.shares();
        let in_mix = |kind: &OperationKind| shares[*kind as usize] > 0.0;
        let kinds: Vec<_> = OperationKind::ALL.into_iter().filter(in_mix).collect();
        let mut place_of_kind = [0; OperationKind::ALL.len()];
        kinds.iter().enumerate().for_each(|(place, kind)| place_of_kind[*kind as usize] = place);
        Self {
            schema: [TableSchema { id: TABLE, name: "usertable", row_bytes }],
            kinds: kinds.iter().map(|kind| kind.name()).collect(),
            place_of_kind,
            plan,
        }
    }

    fn field_bytes(&self) -> usize {
        self.plan.parameters().field_bytes
    }

    /// A new record.
    fn fill(&self, key: u64, row: &mut Vec<u8>) {
        row.clear();
        let values = self.plan.values();
        for field in 0..self.plan.parameters().fields {
            row.extend_from_slice(values.initial(key, field));
        }
        row.resize(self.schema[0].row_bytes, 0);
    }

    /// Writes one field; the rest of the row is read first unless there is none.
    fn update<T: Tables>(
        &self,
        tables: &mut T,
        operation: &Operation,
        row: &mut [u8],
    ) -> Result<(), T::Abort> {
        let (key, bytes) = (operation.key, self.field_bytes());
        if self.plan.parameters().fields > 1 && !tables.read_for_update(TABLE, key, row)? {
            return Err(tables.abort(AbortCause::RowMissing { table: TABLE, key }));
        }
        let start = usize::from(operation.field) * bytes;
        let value = self.plan.values().value(operation.value.into());
        row[start..start + bytes].copy_from_slice(value);
        tables.write(TABLE, key, row)
    }

    fn read<T: Tables>(&self, tables: &mut T, key: u64, row: &mut [u8]) -> Result<(), T::Abort> {
        if tables.read(TABLE, key, row)? {
            // The copy is the operation's result: it must happen although nobody here reads it.
            core::hint::black_box(row);
            return Ok(());
        }
        Err(tables.abort(AbortCause::RowMissing { table: TABLE, key }))
    }
}

impl Job for Ycsb {
    type Terminal = Stream;
    type Input = Operation;
    const AHEAD: usize = 16;

    fn tables(&self) -> &[TableSchema] {
        &self.schema
    }

    fn capacity(&self, _table: TableId) -> usize {
        self.plan.parameters().capacity() as usize
    }

    fn is_scanned(&self, _table: TableId) -> bool {
        self.plan.parameters().mix == Mix::E
    }

    fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    fn pieces(&self) -> usize {
        self.plan.parameters().records.div_ceil(PIECE) as usize
    }

    fn load(&self, piece: usize, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let (first, mut row) = (piece as u64 * PIECE, Vec::new());
        for number in first..(first + PIECE).min(self.plan.parameters().records) {
            let key = fnv1a_64(number);
            self.fill(key, &mut row);
            sink(TABLE, key, &row)?;
        }
        Ok(())
    }

    fn terminals(&self, threads: usize) -> usize {
        threads
    }

    fn terminal(&self, number: usize) -> Stream {
        self.plan.stream(number, 0)
    }

    fn take(&self, terminal: &mut Stream) -> Result<Taken<Operation>, EngineError> {
        let capacity = self.plan.parameters().capacity();
        let input = terminal.take().ok_or(EngineError::Full { capacity })?;
        Ok(Taken {
            kind: self.place_of_kind[input.kind as usize],
            is_read_only: matches!(input.kind, OperationKind::Read | OperationKind::Scan),
            input,
            before: std::time::Duration::ZERO,
            after: std::time::Duration::ZERO,
        })
    }

    fn first_row(&self, input: &Operation) -> Option<(TableId, u64)> {
        (input.kind != OperationKind::Insert).then_some((TABLE, input.key))
    }

    fn run<T: Tables>(
        &self,
        tables: &mut T,
        operation: &Operation,
        scratch: &mut Vec<u8>,
    ) -> Result<(), T::Abort> {
        scratch.resize(self.schema[0].row_bytes, 0);
        let key = operation.key;
        match operation.kind {
            OperationKind::Read => self.read(tables, key, scratch),
            OperationKind::Update => self.update(tables, operation, scratch),
            OperationKind::ReadModifyWrite => {
                self.read(tables, key, scratch)?;
                self.update(tables, operation, scratch)
            }
            OperationKind::Insert => {
                self.fill(key, scratch);
                tables.insert(TABLE, key, scratch)
            }
            OperationKind::Scan => {
                let limit = operation.length.into();
                tables.scan(TABLE, key..=u64::MAX, Direction::Forward, limit, |_, row| {
                    scratch.copy_from_slice(row);
                    core::hint::black_box(&*scratch);
                })
            }
        }
    }

    fn committed(&self, operation: &Operation) {
        if operation.kind == OperationKind::Insert {
            self.plan.keys().acknowledge(operation.number);
        }
    }

    /// Every record that was ever acknowledged is there, with whole fields. Looked up by key, so
    /// that an index without order can be checked too.
    fn faults<T: Tables>(&self, tables: &mut T) -> Result<Vec<String>, T::Abort> {
        let (bytes, fields) = (self.field_bytes(), self.plan.parameters().fields);
        let mut row = vec![0; self.schema[0].row_bytes];
        for number in 0..self.plan.keys().readable() {
            let key = fnv1a_64(number);
            if !tables.read(TABLE, key, &mut row)? {
                return Ok(vec![format!("record {number} (key {key:#x}) is missing")]);
            }
            if let Some(field) = (0..fields).find(|f| !is_whole(&row[f * bytes..][..bytes])) {
                return Ok(vec![format!("field {field} of record {number} is torn")]);
            }
        }
        Ok(Vec::new())
    }
}
