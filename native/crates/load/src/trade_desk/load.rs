//! Loading: one part of the desk per call.
//!
//! The first part is the quotes, each other one some accounts with what they have. Any number of
//! sessions may load different parts at the same time. Rows go as INSERTs of many rows, about 64
//! KiB of text each, with one COMMIT per part.

use std::fmt::Write;
use std::ops::Range;

use assay_wire::WireError;
use assay_wire::sql::Session;
use assay_workload::tables::{Row, TableId};
use assay_workload::trade_desk::Plan;
use assay_workload::trade_desk::rows::{Cash, Position, Quote};

/// An INSERT ends with the row that makes it this long, in bytes.
const STATEMENT_BYTES: usize = 64 * 1024;
/// Rows of a part, about.
const PART_ROWS: u32 = 10_000;

/// Accounts that are loaded together.
fn accounts_per_part(plan: &Plan) -> u32 {
    (PART_ROWS / (1 + u32::from(plan.parameters().instruments))).max(1)
}

/// How many parts there are.
pub fn parts(plan: &Plan) -> usize {
    1 + plan.parameters().accounts.div_ceil(accounts_per_part(plan)) as usize
}

/// The accounts of a part; none of the first.
fn accounts(plan: &Plan, part: usize) -> Option<Range<u32>> {
    let (each, all) = (accounts_per_part(plan), plan.parameters().accounts);
    let first = u32::try_from(part).ok()?.checked_sub(1)?.saturating_mul(each);
    Some(first.min(all)..first.saturating_add(each).min(all))
}

/// Loads a part, from 0; `progress` is told the rows of every statement that is done.
///
/// # Errors
/// Any of the session.
pub async fn load<S: Session>(
    session: &mut S,
    plan: &Plan,
    part: usize,
    mut progress: impl FnMut(u64),
) -> Result<(), WireError> {
    let mut inserts = Inserts::default();
    match accounts(plan, part) {
        None => plan.load_quotes(|table, key, row| inserts.add(table, key, row)),
        Some(accounts) => {
            plan.load_accounts(accounts, |table, key, row| inserts.add(table, key, row));
        }
    }
    session.batch("BEGIN").await?;
    for (text, rows) in inserts.full.iter().chain(&inserts.open) {
        if *rows > 0 {
            session.batch(text).await?;
            progress(*rows);
        }
    }
    session.batch("COMMIT").await?;
    Ok(())
}

/// INSERT statements with their rows.
#[derive(Default)]
struct Inserts {
    full: Vec<(String, u64)>,
    /// By the table's number; only the first three are loaded.
    open: [(String, u64); 3],
}

impl Inserts {
    fn add(&mut self, table: TableId, key: u64, row: &[u8]) {
        let (name, place) = match table {
            Quote::TABLE => ("desk_quote", 0),
            Position::TABLE => ("desk_position", 1),
            Cash::TABLE => ("desk_cash", 2),
            // The catalogue is the server's own.
            _ => return,
        };
        let (text, rows) = &mut self.open[place];
        if *rows == 0 {
            text.push_str("INSERT INTO ");
            text.push_str(name);
            text.push_str(" VALUES ");
        } else {
            text.push(',');
        }
        write_row(table, key, row, text);
        *rows += 1;
        if text.len() >= STATEMENT_BYTES {
            self.full.push(std::mem::take(&mut self.open[place]));
        }
    }
}

/// The bytes of a row as that row.
fn typed<R: Row>(bytes: &[u8]) -> R {
    let mut row = R::zeroed();
    row.bytes_mut().copy_from_slice(bytes);
    row
}

fn write_row(table: TableId, key: u64, bytes: &[u8], into: &mut String) {
    // Writing to a text cannot fail.
    let _ = match table {
        Quote::TABLE => {
            let row: Quote = typed(bytes);
            write!(into, "({key},{},{})", row.last_cents(), row.volume())
        }
        Position::TABLE => {
            let row: Position = typed(bytes);
            let (account, instrument) = (key >> u16::BITS, key as u16);
            write!(into, "({account},{instrument},{})", row.quantity())
        }
        _ => write!(into, "({key},{})", typed::<Cash>(bytes).balance_cents()),
    };
}
