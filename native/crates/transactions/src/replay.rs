//! Recovery of a whole database: the redo log over the initial population.

use std::collections::HashMap;
use std::path::Path;

use assay_log::{Change, Recovered, recover};
use assay_workload::tables::TableId;

use crate::cc::Protocol;
use crate::error::TransactionError;
use crate::loader::Loader;

type Latest = HashMap<(u16, u64), (u64, Option<Box<[u8]>>)>;

/// Puts into a database what the transactions of a log left behind: of each key the write with the
/// highest TID. The database must be as it was when the log was begun (empty, or with the same
/// rows loaded). Its later TIDs are higher than all in the log.
///
/// Gathers all keys of the log in memory first.
///
/// # Errors
/// `Log` when the log cannot be read, `NoTable` and `RowSize` when it is of other tables, `Full`,
/// `RowStore`.
pub fn recover_into<C: Protocol>(
    path: impl AsRef<Path>,
    loader: &mut Loader<'_, C>,
) -> Result<Recovered, TransactionError> {
    let mut latest = Latest::new();
    let recovered = recover(path, &mut |record| {
        for write in record.writes() {
            let row = match write.change {
                Change::Put(row) => Some(row.into()),
                Change::Delete => None,
            };
            let known = latest.entry((write.table, write.key)).or_insert((0, None));
            if record.tid >= known.0 {
                *known = (record.tid, row);
            }
        }
    })?;
    for ((table, key), (tid, row)) in latest {
        let table = u8::try_from(table).map_err(|_| TransactionError::NoTable(table))?;
        loader.redo(TableId(table), key, row.as_deref(), tid)?;
    }
    loader.raise_tid(recovered.tid_max);
    Ok(recovered)
}
