//! What SQL protocols have in common.

use crate::WireError;

/// A value sent to the server, as a parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// No value.
    Null,
    /// An integer of eight bytes.
    Int(i64),
    /// A text or bytes.
    Text(&'v [u8]),
}

/// The type of a parameter, which is told when a statement is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// BIGINT, and whatever integer the server turns it into.
    Int,
    /// A text.
    Text,
}

/// A statement prepared in one session; its number in the order of preparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement(pub usize);

/// Whose SQL it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL and MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows that were returned.
    pub rows: u64,
    /// Rows that were changed, added or removed; of statements that return no rows.
    pub affected: u64,
}

/// One row of an answer, valid while it is visited.
pub trait Row {
    /// How many columns it has.
    fn columns(&self) -> usize;

    /// A column as an integer; none if it is null.
    ///
    /// # Errors
    /// `Protocol` when there is no such column or it is no integer. A decimal without fraction
    /// (`SUM` of integers) is one.
    fn int(&self, column: usize) -> Result<Option<i64>, WireError>;

    /// The bytes of a text column; none if it is null.
    ///
    /// # Errors
    /// `Protocol` when there is no such column.
    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError>;
}

/// A session that is asked texts of statements, and gives texts: for what a server says of itself,
/// and for queries that take so long that preparing them would not show.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Ask: Session {
    /// Runs the text of a statement without parameters and visits its rows: each column as the
    /// server writes it, none where it is null.
    ///
    /// # Errors
    /// Any. After `Server` the session goes on; rows visited before it do not count.
    async fn ask(
        &mut self,
        text: &str,
        visit: impl FnMut(&[Option<&[u8]>]),
    ) -> Result<Completion, WireError>;
}

/// A session with an SQL server. All futures wait for nothing but the session's own connection.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Session {
    /// Whose SQL it speaks.
    const DIALECT: Dialect;

    /// The rows of this protocol.
    type Row<'r>: Row;

    /// Prepares a statement. Parameters are written `?`, whatever the server wants to see; a `?`
    /// in a quoted text is none.
    ///
    /// # Errors
    /// Any.
    async fn prepare(&mut self, text: &str, parameters: &[Type]) -> Result<Statement, WireError>;

    /// Runs a prepared statement and visits its rows.
    ///
    /// # Errors
    /// Any. After `Server` the session goes on; rows visited before it do not count.
    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visit: impl FnMut(&Self::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError>;

    /// Runs texts of statements without parameters, in one go, and visits no rows.
    ///
    /// # Errors
    /// Any; the first error of the server, after which the others were not run.
    async fn batch(&mut self, text: &str) -> Result<Completion, WireError>;

    /// Says goodbye, so that the server need not find out.
    async fn close(self);
}
