//! Stock-Level, clause 2.8.2, on one snapshot.

use assay_wire::sql::Session;
use assay_workload::tpcc::inputs::StockLevelInput;
use assay_workload::tpcc::procedures::RECENT;

use super::{Abort, Terminal, int, missing};
use crate::columns::narrow;
use crate::tpcc::statements::Query;

impl<S: Session> Terminal<S> {
    pub(super) async fn stock_level(&mut self, input: &StockLevelInput) -> Result<u32, Abort> {
        let (warehouse, district) = (int(input.warehouse), int(input.district));
        let mut next = None;
        let visit = |row: &S::Row<'_>| {
            next = Some(narrow::<u32>(row, 0)?);
            Ok(())
        };
        self.ask(Query::Recent, &[warehouse, district], visit).await?;
        let key = || format!("({}, {})", input.warehouse, input.district);
        let next = next.ok_or_else(|| missing("district", key()))?;
        let (first, last) = (next.saturating_sub(RECENT), next.saturating_sub(1));
        let values = [warehouse, district, int(first), int(last), int(input.threshold)];
        let mut low = 0;
        let visit = |row: &S::Row<'_>| {
            low = narrow(row, 0)?;
            Ok(())
        };
        self.ask(Query::LowStock, &values, visit).await?;
        Ok(low)
    }
}
