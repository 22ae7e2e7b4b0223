//! Stock-Level, clause 2.8.2. The specification asks for less isolation here than elsewhere; this
//! runs like every other transaction.

use crate::tables::{Direction, Row, Tables};
use crate::tpcc::inputs::StockLevelInput;
use crate::tpcc::keys;
use crate::tpcc::rows::{District, OrderLine, Stock};

/// Orders looked at.
pub const RECENT: u32 = 20;
/// Rows announced at a time: more would push one another out of the nearest cache.
const AHEAD: usize = 16;

/// How many items of the last twenty orders have less stock than the threshold.
pub fn stock_level<T: Tables>(tables: &mut T, input: &StockLevelInput) -> Result<u32, T::Abort> {
    let (warehouse, place) = (input.warehouse, input.district);
    let district: District = tables.get(keys::district(warehouse, place))?;
    let next = district.next_order();
    let recent = keys::lines(warehouse, place, next.saturating_sub(RECENT), next - 1);
    let mut items = Vec::with_capacity(300);
    tables.scan_rows(recent, Direction::Forward, usize::MAX, |_, line: &OrderLine| {
        items.push(line.item());
    })?;
    items.sort_unstable();
    items.dedup();
    let mut low = 0;
    for items in items.chunks(AHEAD) {
        let stocks = items.iter().map(|item| keys::stock(warehouse, *item));
        tables.announce(Stock::TABLE, stocks.clone());
        for key in stocks {
            let stock: Stock = tables.get(key)?;
            low += u32::from(stock.quantity() < i64::from(input.threshold));
        }
    }
    Ok(low)
}
