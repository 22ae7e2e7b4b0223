//! Columns of answers as the numbers and texts that the workload's rows hold.

use assay_wire::WireError;
use assay_wire::sql::{Row, Session};

/// A column that is never null.
pub fn int(row: &impl Row, column: usize) -> Result<i64, WireError> {
    row.int(column)?.ok_or_else(|| null(column))
}

/// A sum, which is null over no rows.
pub fn sum(row: &impl Row, column: usize) -> Result<i64, WireError> {
    Ok(row.int(column)?.unwrap_or(0))
}

/// A text that is never null.
pub fn text(row: &impl Row, column: usize) -> Result<&[u8], WireError> {
    row.text(column)?.ok_or_else(|| null(column))
}

/// A column of a narrower type.
pub fn narrow<T: TryFrom<i64>>(row: &impl Row, column: usize) -> Result<T, WireError> {
    let value = int(row, column)?;
    T::try_from(value).map_err(|_| {
        let bytes = size_of::<T>();
        unexpected(format!("column {column} is {value}, which {bytes} bytes cannot hold"))
    })
}

/// A column that has to fit the bits of a packed key.
pub fn within<T: TryFrom<i64>>(row: &impl Row, column: usize, most: i64) -> Result<T, WireError> {
    let value = int(row, column)?;
    if !(0..=most).contains(&value) {
        return Err(unexpected(format!("column {column} is {value}, not from 0 to {most}")));
    }
    narrow(row, column)
}

fn null(column: usize) -> WireError {
    unexpected(format!("column {column} is null"))
}

pub fn unexpected(what: String) -> WireError {
    WireError::Protocol { protocol: "the workload's schema", what }
}

/// Prepares and runs a statement without parameters once.
pub async fn query<S: Session>(
    session: &mut S,
    text: &str,
    visit: impl FnMut(&S::Row<'_>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let statement = session.prepare(text, &[]).await?;
    session.run(statement, &[], visit).await?;
    Ok(())
}

/// Begins a transaction whose reads all see the same moment.
pub async fn begin_snapshot<S: Session>(session: &mut S) -> Result<(), WireError> {
    use assay_wire::sql::Dialect;
    let text = match S::DIALECT {
        Dialect::MySql => "START TRANSACTION READ ONLY",
        Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    };
    session.batch(text).await?;
    Ok(())
}
