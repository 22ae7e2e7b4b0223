//! Loading, as a workload that is measured: one part of the database per call.
//!
//! The items and each warehouse are independent: any number of sessions may load different parts
//! at the same time. Rows go as INSERTs of many rows, about 64 KiB of text each, with one COMMIT
//! per piece of the population (at most some megabytes).

use assay_wire::sql::{Dialect, Session};
use assay_workload::tables::TableId;
use assay_workload::tpcc::population::Pieces;
use assay_workload::tpcc::{Plan, TABLES};

use super::TpccError;
use super::insert::{table_name, write_values};

/// An INSERT ends with the row that makes it this long, in bytes.
const STATEMENT_BYTES: usize = 64 * 1024;

/// What was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Rows, over all tables.
    pub rows: u64,
    /// Bytes of the statements' texts.
    pub bytes: u64,
    /// Statements, without BEGIN and COMMIT.
    pub statements: u64,
}

/// Loads the items.
///
/// `progress` is called with what was loaded so far, after every statement.
///
/// # Errors
/// Any of the session.
pub async fn items<S: Session>(
    session: &mut S,
    plan: &Plan,
    progress: impl FnMut(&Loaded),
) -> Result<Loaded, TpccError> {
    part(session, plan.item_pieces(), progress).await
}

/// Loads one warehouse (from 1) with everything that belongs to it.
///
/// `progress` is called with what was loaded so far, after every statement.
///
/// # Errors
/// Any of the session.
pub async fn warehouse<S: Session>(
    session: &mut S,
    plan: &Plan,
    warehouse: u16,
    progress: impl FnMut(&Loaded),
) -> Result<Loaded, TpccError> {
    part(session, plan.warehouse_pieces(warehouse), progress).await
}

async fn part<S: Session>(
    session: &mut S,
    mut pieces: Pieces<'_>,
    mut progress: impl FnMut(&Loaded),
) -> Result<Loaded, TpccError> {
    let mut inserts = Inserts::new(S::DIALECT);
    let mut loaded = Loaded::default();
    loop {
        let mut written = Ok(());
        let is_more = pieces.next(|table, key, row| {
            if written.is_ok() {
                written = inserts.add(table, key, row);
            }
        });
        written?;
        if !is_more {
            return Ok(loaded);
        }
        inserts.finish();
        session.batch("BEGIN").await?;
        for (text, rows) in inserts.full.drain(..) {
            session.batch(&text).await?;
            loaded.rows += rows;
            loaded.bytes += text.len() as u64;
            loaded.statements += 1;
            inserts.spare.push(text);
            progress(&loaded);
        }
        session.batch("COMMIT").await?;
    }
}

/// INSERT statements in the making, one per table.
struct Inserts {
    dialect: Dialect,
    /// Text and rows, by the table's number.
    open: Vec<(String, u64)>,
    full: Vec<(String, u64)>,
    /// Texts to be written over.
    spare: Vec<String>,
}

impl Inserts {
    fn new(dialect: Dialect) -> Self {
        let open = TABLES.iter().map(|_| Default::default()).collect();
        Self { dialect, open, full: Vec::new(), spare: Vec::new() }
    }

    fn add(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), TpccError> {
        let Some(name) = table_name(table) else { return Ok(()) };
        let (text, rows) = &mut self.open[usize::from(table.0)];
        if *rows == 0 {
            text.push_str("INSERT INTO ");
            text.push_str(name);
            text.push_str(" VALUES ");
        } else {
            text.push(',');
        }
        write_values(self.dialect, table, key, row, text)?;
        *rows += 1;
        if text.len() >= STATEMENT_BYTES {
            self.close(usize::from(table.0));
        }
        Ok(())
    }

    fn close(&mut self, table: usize) {
        let mut text = self.spare.pop().unwrap_or_default();
        text.clear();
        self.full.push(std::mem::replace(&mut self.open[table], (text, 0)));
    }

    /// Closes every statement that has a row.
    fn finish(&mut self) {
        for table in 0..self.open.len() {
            if self.open[table].1 > 0 {
                self.close(table);
            }
        }
    }
}
