//! Tables: named columns of integers, each in its own width.

use assay_primitives::named;

use crate::error::PlanError;

named! {
    /// The width of a column.
    pub enum ColumnType {
        /// 16 bits with sign.
        I16 "i16",
        /// 32 bits with sign.
        I32 "i32",
        /// 64 bits with sign.
        I64 "i64",
    }
}

impl ColumnType {
    /// The size of one value.
    pub(crate) fn bytes(self) -> usize {
        match self {
            ColumnType::I16 => 2,
            ColumnType::I32 => 4,
            ColumnType::I64 => 8,
        }
    }
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// 16 bits each.
    I16(Vec<i16>),
    /// 32 bits each.
    I32(Vec<i32>),
    /// 64 bits each.
    I64(Vec<i64>),
}

impl Column {
    /// The width.
    pub fn kind(&self) -> ColumnType {
        match self {
            Column::I16(_) => ColumnType::I16,
            Column::I32(_) => ColumnType::I32,
            Column::I64(_) => ColumnType::I64,
        }
    }

    /// How many values there are.
    pub fn rows(&self) -> usize {
        match self {
            Column::I16(values) => values.len(),
            Column::I32(values) => values.len(),
            Column::I64(values) => values.len(),
        }
    }

    /// The value of one row, widened.
    #[inline(always)]
    pub fn value(&self, row: usize) -> i64 {
        match self {
            Column::I16(values) => i64::from(values[row]),
            Column::I32(values) => i64::from(values[row]),
            Column::I64(values) => values[row],
        }
    }

    /// Where the values from `row` on are. `row` may be the number of rows.
    pub(crate) fn address_of(&self, row: usize) -> *const u8 {
        match self {
            Column::I16(values) => values[row..].as_ptr().cast(),
            Column::I32(values) => values[row..].as_ptr().cast(),
            Column::I64(values) => values[row..].as_ptr().cast(),
        }
    }
}

/// The names and types of a table's columns, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<(String, ColumnType)>,
}

impl Schema {
    /// A schema, or the name that is there twice.
    pub fn new(columns: Vec<(String, ColumnType)>) -> Result<Self, PlanError> {
        for (place, (name, _)) in columns.iter().enumerate() {
            if columns[..place].iter().any(|(other, _)| other == name) {
                return Err(PlanError::DuplicateColumn(name.clone()));
            }
        }
        Ok(Self { columns })
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[(String, ColumnType)] {
        &self.columns
    }

    /// The place of a column.
    pub fn place(&self, name: &str) -> Result<usize, PlanError> {
        self.columns.iter().position(|(known, _)| known == name).ok_or_else(|| {
            let known: Vec<_> = self.columns.iter().map(|(name, _)| format!("`{name}`")).collect();
            PlanError::UnknownColumn { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

/// Columns of equal length. Holding the value is the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: Schema,
    columns: Vec<Column>,
}

impl Table {
    /// A table, or why these columns do not make one.
    pub fn new(named: Vec<(String, Column)>) -> Result<Self, PlanError> {
        let schema =
            Schema::new(named.iter().map(|(name, it)| (name.clone(), it.kind())).collect())?;
        let expected = named.first().map_or(0, |(_, column)| column.rows());
        if let Some((name, column)) = named.iter().find(|(_, it)| it.rows() != expected) {
            let (name, rows) = (name.clone(), column.rows());
            return Err(PlanError::UnequalLengths { name, rows, expected });
        }
        Ok(Self { schema, columns: named.into_iter().map(|(_, column)| column).collect() })
    }

    /// What the columns are called.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The columns, in the order of the schema.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows every column has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::rows)
    }
}
