//! Loading the tables.

use std::fmt::Write;
use std::ops::Range;

use assay_wire::WireError;
use assay_wire::sql::{Dialect, Session};
use assay_workload::oltp::{Plan, Row};

use super::schema;

/// A statement of so many bytes is sent.
const STATEMENT_BYTES: usize = 64 << 10;

/// Makes empty tables without the index on `k`; tables of the same names are dropped.
///
/// # Errors
/// Any of the session.
pub async fn create<S: Session>(session: &mut S, plan: &Plan) -> Result<(), WireError> {
    for table in 1..=plan.parameters().tables {
        session.batch(&schema::drop_table(table)).await?;
        session.batch(&schema::create_table(S::DIALECT, table)).await?;
    }
    Ok(())
}

/// Adds the rows with some `ids` (from 1 to below or at the end of the table) to a table. Parts of
/// one table may be loaded by different sessions at once.
///
/// # Errors
/// Any of the session.
pub async fn load<S: Session>(
    session: &mut S,
    plan: &Plan,
    table: u32,
    ids: Range<u32>,
) -> Result<(), WireError> {
    let mut text = String::with_capacity(STATEMENT_BYTES + 512);
    for id in ids {
        if text.is_empty() {
            let _ = write!(text, "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ");
        } else {
            text.push(',');
        }
        push_row(&mut text, &plan.row(table, id));
        if text.len() >= STATEMENT_BYTES {
            session.batch(&text).await?;
            text.clear();
        }
    }
    if !text.is_empty() {
        session.batch(&text).await?;
    }
    Ok(())
}

/// Digits and dashes need no escapes in any dialect.
fn push_row(text: &mut String, row: &Row) {
    let Row { id, k, c, pad } = row;
    let (c, pad) = (String::from_utf8_lossy(c), String::from_utf8_lossy(pad));
    // Writing to a String cannot fail.
    let _ = write!(text, "({id},{k},'{c}','{pad}')");
}

/// Makes the indexes on `k`, once all rows are there, and lets PostgreSQL's sequences follow the
/// ids, which MySQL's counters do by themselves.
///
/// # Errors
/// Any of the session.
pub async fn finish<S: Session>(session: &mut S, plan: &Plan) -> Result<(), WireError> {
    let last = plan.parameters().table_size;
    for table in 1..=plan.parameters().tables {
        session.batch(&schema::create_index(table)).await?;
        if S::DIALECT == Dialect::Postgres {
            session.batch(&format!("SELECT setval('sbtest{table}_id_seq', {last})")).await?;
        }
    }
    Ok(())
}
