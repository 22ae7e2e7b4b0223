//! The data that workloads need, as [`Data`].

use std::sync::atomic::{AtomicU64, Ordering};

use assay_wire::WireError;
use assay_workload::tables::Row;
use assay_workload::tpcc::{check_after_loading, check_after_running};
use assay_workload::trade_desk::rows::Quote;
use assay_workload::{oltp as oltp_inputs, tpcc as tpcc_inputs, trade_desk as desk_inputs};

use super::Open;
use crate::client::Error;
use crate::data::Data;
use crate::{oltp, tpcc, trade_desk, ycsb};

/// Rows of a part, where rows are alike.
const PART_ROWS: u64 = 10_000;

fn parts_of(rows: u64) -> usize {
    usize::try_from(rows.div_ceil(PART_ROWS)).unwrap_or(usize::MAX)
}

/// The first and the end of a part's rows, counted from zero.
fn part_of(part: usize, rows: u64) -> (u64, u64) {
    let first = part as u64 * PART_ROWS;
    (first, (first + PART_ROWS).min(rows))
}

/// The numbers that differ from what was loaded, in words.
fn counted(table: &str, found: Option<i64>, expected: u64) -> Option<String> {
    let found = found.unwrap_or(0);
    (found != expected as i64).then(|| format!("{table} has {found} rows instead of {expected}"))
}

async fn count<S: Open>(session: &mut S, table: &str) -> Result<Option<i64>, WireError> {
    let statement = session.prepare(&format!("SELECT COUNT(*) FROM {table}"), &[]).await?;
    let mut found = None;
    session
        .run(statement, &[], |row| {
            found = assay_wire::sql::Row::int(row, 0)?;
            Ok(())
        })
        .await?;
    Ok(found)
}

impl Data for oltp_inputs::Plan {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Ok(oltp::create(session, self).await?)
    }

    fn parts(&self) -> usize {
        let parameters = self.parameters();
        parts_of(parameters.table_size.into()) * parameters.tables as usize
    }

    fn rows(&self) -> u64 {
        u64::from(self.parameters().table_size) * u64::from(self.parameters().tables)
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        part: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        let (tables, size) = (self.parameters().tables as usize, self.parameters().table_size);
        // Neighbouring parts are of different tables, so that sessions meet seldom.
        let (first, end) = part_of(part / tables, size.into());
        // Ids count from one and are 32 bits wide.
        let ids = first as u32 + 1..end as u32 + 1;
        oltp::load(session, self, (part % tables) as u32 + 1, ids).await?;
        rows.fetch_add(end - first, Ordering::Relaxed);
        Ok(())
    }

    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Ok(oltp::finish(session, self).await?)
    }

    async fn check<S: Open>(&self, session: &mut S, _: bool) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        for table in 1..=self.parameters().tables {
            let name = format!("sbtest{table}");
            let found = count(session, &name).await?;
            faults.extend(counted(&name, found, self.parameters().table_size.into()));
        }
        Ok(faults)
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        for table in 1..=self.parameters().tables {
            session.batch(&oltp::drop_table(table)).await?;
        }
        Ok(())
    }
}

impl Data for assay_workload::Plan {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Ok(ycsb::sql::create(session, self).await?)
    }

    fn parts(&self) -> usize {
        parts_of(self.parameters().records)
    }

    fn rows(&self) -> u64 {
        self.parameters().records
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        part: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        let (first, end) = part_of(part, self.parameters().records);
        ycsb::sql::load(session, self, first..end).await?;
        rows.fetch_add(end - first, Ordering::Relaxed);
        Ok(())
    }

    async fn finish<S: Open>(&self, _: &mut S) -> Result<(), Error> {
        Ok(())
    }

    async fn check<S: Open>(&self, session: &mut S, is_fresh: bool) -> Result<Vec<String>, Error> {
        let found = count(session, "usertable").await?;
        let records = self.parameters().records;
        // A run may have added some.
        let has_more = !is_fresh && found.is_some_and(|found| found > records as i64);
        Ok(counted("usertable", found, records).filter(|_| !has_more).into_iter().collect())
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        session.batch("DROP TABLE IF EXISTS usertable").await?;
        Ok(())
    }
}

impl Data for tpcc_inputs::Plan {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        tpcc::schema::remove(session).await.map_err(super::tpcc::error)?;
        tpcc::schema::create(session).await.map_err(super::tpcc::error)
    }

    fn parts(&self) -> usize {
        1 + usize::from(self.parameters().scale.warehouses)
    }

    fn rows(&self) -> u64 {
        let scale = &self.parameters().scale;
        let (warehouses, items) = (u64::from(scale.warehouses), u64::from(scale.items));
        let districts = u64::from(tpcc_inputs::scale::DISTRICTS);
        let customers = districts * u64::from(scale.customers);
        // By customer: itself, its history and order, ten lines; three orders in ten are new.
        items + warehouses * (1 + districts + items + customers * 133 / 10)
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        part: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        let mut before = 0;
        let progress = |loaded: &tpcc::load::Loaded| {
            rows.fetch_add(loaded.rows - before, Ordering::Relaxed);
            before = loaded.rows;
        };
        let loaded = match u16::try_from(part) {
            Ok(0) => tpcc::load::items(session, self, progress).await,
            Ok(warehouse) => tpcc::load::warehouse(session, self, warehouse, progress).await,
            Err(_) => return Err(Error::Data(format!("there is no part {part}"))),
        };
        loaded.map(drop).map_err(super::tpcc::error)
    }

    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        let options = tpcc::schema::Options::default();
        tpcc::schema::finish(session, options).await.map_err(super::tpcc::error)
    }

    async fn check<S: Open>(&self, session: &mut S, is_fresh: bool) -> Result<Vec<String>, Error> {
        let census = tpcc::census::read(session).await.map_err(super::tpcc::error)?;
        let violations = if is_fresh {
            check_after_loading(&census, &self.parameters().scale)
        } else {
            check_after_running(&census)
        };
        Ok(violations.iter().map(ToString::to_string).collect())
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        tpcc::schema::remove(session).await.map_err(super::tpcc::error)
    }
}

impl Data for desk_inputs::Plan {
    async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        trade_desk::schema::remove(session).await?;
        Ok(trade_desk::schema::create(session).await?)
    }

    fn parts(&self) -> usize {
        trade_desk::load::parts(self)
    }

    fn rows(&self) -> u64 {
        let parameters = self.parameters();
        let instruments = u64::from(parameters.instruments);
        // By account: its cash and its positions.
        instruments + u64::from(parameters.accounts) * (1 + instruments)
    }

    async fn load<S: Open>(
        &self,
        session: &mut S,
        part: usize,
        rows: &AtomicU64,
    ) -> Result<(), Error> {
        let progress = |loaded| {
            rows.fetch_add(loaded, Ordering::Relaxed);
        };
        Ok(trade_desk::load::load(session, self, part, progress).await?)
    }

    async fn finish<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Ok(trade_desk::schema::finish(session).await?)
    }

    async fn check<S: Open>(&self, session: &mut S, _: bool) -> Result<Vec<String>, Error> {
        let mut tables = trade_desk::final_state::read(session).await?;
        let (parameters, quotes) = (self.parameters(), tables.count(Quote::TABLE));
        let faults = counted("desk_quote", Some(quotes as i64), parameters.instruments.into());
        let ledger = desk_inputs::Ledger::read(&mut tables)
            .map_err(|error| Error::Data(error.to_string()))?;
        let violations = desk_inputs::check(&ledger, parameters);
        Ok(faults.into_iter().chain(violations.iter().map(ToString::to_string)).collect())
    }

    async fn remove<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        Ok(trade_desk::schema::remove(session).await?)
    }
}
