//! What a stand-in for an SQL server answers, without a protocol: shapes and values.
//!
//! `mysql::server` and `postgres::server` turn it into bytes.

use crate::sql::Value;

/// What every stand-in says of itself wherever it shows.
pub const STAND_IN: &str = "assay stand-in: answers without data, for measuring a client";

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// INTEGER, four bytes.
    Int,
    /// BIGINT, eight bytes.
    BigInt,
    /// What SUM gives over BIGINT: a decimal, here without fraction.
    Decimal,
    /// A text.
    Text,
}

/// A column of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
}

/// What a statement does, as far as its completion tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// SELECT.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// The begin of a transaction.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SET.
    Set,
}

/// How a statement is asked and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it does.
    pub command: Command,
    /// How many parameters it has.
    pub parameters: usize,
    /// The columns of its rows; empty if it returns none.
    pub columns: Vec<Column>,
}

/// The statements that a stand-in knows. A statement is told by its place in them.
pub trait Answers: 'static {
    /// The place of a text, written as the protocol has it (`?` or `$1`); none if it is not known.
    fn find(&self, text: &str) -> Option<usize>;

    /// How a statement is asked and answered.
    ///
    /// # Panics
    /// May panic for a place that [`Answers::find`] did not return.
    fn shape(&self, statement: usize) -> &Shape;

    /// Gives the rows that these values ask for, each as long as the shape says, and returns how
    /// many rows were changed by a statement that returns none.
    fn answer(
        &self,
        statement: usize,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&[Value<'_>]),
    ) -> u64;
}
