//! The tables of `hits` as [`Data`]: loaded by one session, so that rows lie in their order.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_wire::sql::Dialect;
use assay_workload::hits::Plan;

use super::Open;
use super::hits::Upload;
use crate::client::Error;
use crate::data::Data;
use crate::hits::schema::{TABLE, UPLOAD_TABLE, create_table, drop_table};
use crate::hits::{Checkout, answers};

/// Rows that are handed on together.
const CHUNK_ROWS: u64 = 100;

impl Data for Plan {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch(&drop_table(TABLE)).await?;
        session.batch(&create_table(TABLE)).await?;
        Ok(())
    }

    fn parts(&self) -> usize {
        1
    }

    fn rows(&self) -> u64 {
        self.parameters().rows
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        _: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        let (mut next, mut scratch) = (0, String::new());
        let chunk = |lines: &mut Vec<u8>| {
            let end = (next + CHUNK_ROWS).min(self.parameters().rows);
            for row in next..end {
                self.row(row).write_tsv(&mut scratch, lines);
            }
            rows.fetch_add(end - next, Ordering::Relaxed);
            next = end;
            next < self.parameters().rows
        };
        session.add_all(TABLE, chunk).await?;
        Ok(())
    }

    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        look_at(session).await
    }

    async fn check<S: Open>(&self, session: &mut S, _: bool) -> Result<Vec<String>, Error> {
        answers::check(session, self).await
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch(&drop_table(TABLE)).await?;
        Ok(())
    }
}

/// Has the server look at the table, as it would by itself some time later.
async fn look_at<S: Open>(session: &mut S) -> Result<(), Error> {
    let verb = match S::DIALECT {
        Dialect::MySql => "ANALYZE TABLE",
        Dialect::Postgres => "VACUUM ANALYZE",
    };
    session.batch(&format!("{verb} {TABLE}")).await?;
    Ok(())
}

impl Data for Checkout {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Checkout::create(self, session).await
    }

    fn parts(&self) -> usize {
        1
    }

    fn rows(&self) -> u64 {
        self.lines
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        _: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        Checkout::load(self, session, rows).await
    }

    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        look_at(session).await
    }

    async fn check<S: Open>(&self, session: &mut S, _: bool) -> Result<Vec<String>, Error> {
        Checkout::check(self, session).await
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch(&drop_table(TABLE)).await?;
        Ok(())
    }
}

/// The table begins empty: only a run adds rows.
impl Data for Upload {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch(&drop_table(UPLOAD_TABLE)).await?;
        session.batch(&create_table(UPLOAD_TABLE)).await?;
        Ok(())
    }

    fn parts(&self) -> usize {
        0
    }

    fn rows(&self) -> u64 {
        0
    }

    async fn load<S: Open>(&self, _: &mut S, _: usize, _: &AtomicU64) -> Result<(), Error> {
        Ok(())
    }

    async fn finish<S: Open>(&self, _: &mut S) -> Result<(), Error> {
        Ok(())
    }

    async fn check<S: Open>(&self, session: &mut S, is_fresh: bool) -> Result<Vec<String>, Error> {
        let answer = answers::ask(session, &format!("SELECT COUNT(*) FROM {UPLOAD_TABLE}")).await?;
        let found: Option<u64> = answer.text().trim().parse().ok();
        let is_right = found.is_some_and(|rows| match is_fresh {
            true => rows == 0,
            false => rows.is_multiple_of(self.rows_per_batch),
        });
        let fault = || {
            let (rows, batch) = (answer.text(), self.rows_per_batch);
            format!("{UPLOAD_TABLE} has {} rows: not whole batches of {batch}", rows.trim())
        };
        Ok((!is_right).then(fault).into_iter().collect())
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch(&drop_table(UPLOAD_TABLE)).await?;
        Ok(())
    }
}
