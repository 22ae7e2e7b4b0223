//! New-Order, clause 2.4.2.
//!
//! Locks in the order: district, then stock by warehouse and item. The rows of lines before an
//! unused item are written before the roll-back, as the profile demands.

use assay_wire::WireError;
use assay_wire::sql::{Session, Value};
use assay_workload::tpcc::draws::is_original;
use assay_workload::tpcc::inputs::{LINES_MAX, Line, NewOrderInput};
use assay_workload::tpcc::procedures::{Entered, stock_left, total_cents};

use super::{Abort, Terminal, Values, int, missing, repeat_last};
use crate::columns::{int as int_of, narrow, text as text_of};
use crate::tpcc::statements::{Query, padded};

/// What is known of a line's item.
#[derive(Clone, Copy, Debug, Default)]
struct Bought {
    is_found: bool,
    is_original: bool,
    price_cents: i64,
}

/// One row of STOCK that the order takes from, once or several times.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    warehouse: u16,
    item: u32,
    is_found: bool,
    is_original: bool,
    /// S_QUANTITY: as read, later as it will be.
    quantity: i64,
    /// What is added to S_YTD.
    taken: i64,
    /// What is added to S_ORDER_CNT.
    lines: i64,
    info: [u8; 24],
    info_length: usize,
}

/// The rows of STOCK of one order, by warehouse and item, each once.
struct Stocks {
    list: [Taken; LINES_MAX],
    count: usize,
}

impl Stocks {
    fn of(lines: &[Line]) -> Self {
        let mut stocks = Self { list: [Taken::default(); LINES_MAX], count: 0 };
        for line in lines {
            if stocks.place(line).is_none() {
                let (warehouse, item) = (line.supply_warehouse, line.item);
                stocks.list[stocks.count] = Taken { warehouse, item, ..Taken::default() };
                stocks.count += 1;
            }
        }
        stocks.list[..stocks.count].sort_unstable_by_key(|stock| (stock.warehouse, stock.item));
        stocks
    }

    fn place(&self, line: &Line) -> Option<usize> {
        let key = (line.supply_warehouse, line.item);
        self.list[..self.count].iter().position(|stock| (stock.warehouse, stock.item) == key)
    }

    /// The rows of the warehouse that begins at a place.
    fn group(&mut self, start: usize) -> &mut [Taken] {
        let rest = &mut self.list[start..self.count];
        let warehouse = rest.first().map(|stock| stock.warehouse);
        let length = rest.iter().take_while(|stock| Some(stock.warehouse) == warehouse).count();
        &mut rest[..length]
    }

    fn take(&mut self, line: &Line) {
        if let Some(place) = self.place(line) {
            let stock = &mut self.list[place];
            stock.quantity = stock_left(stock.quantity, line.quantity);
            stock.taken += i64::from(line.quantity);
            stock.lines += 1;
        }
    }
}

impl<S: Session> Terminal<S> {
    pub(super) async fn new_order(&mut self, input: &NewOrderInput) -> Result<Entered, Abort> {
        let (order, district_tax) = self.take_order_number(input).await?;
        let (warehouse_tax, discount) = self.buyer(input).await?;
        self.add_order(input, order).await?;
        let bought = self.items(input.lines()).await?;
        let known = bought[..input.lines().len()].iter().take_while(|item| item.is_found).count();
        let lines = &input.lines()[..known];
        let mut stocks = Stocks::of(lines);
        self.stocks(input.district, &mut stocks).await?;
        lines.iter().for_each(|line| stocks.take(line));
        self.take_stocks(input.warehouse, &mut stocks).await?;
        if known > 0 {
            self.add_lines(input, order, &bought[..known], &stocks).await?;
        }
        if known < input.lines().len() {
            return Err(Abort::Requested);
        }
        let (mut sum_cents, mut brand_lines) = (0, 0);
        for (line, item) in lines.iter().zip(&bought) {
            sum_cents += item.price_cents * i64::from(line.quantity);
            let is_brand = stocks.place(line).is_some_and(|place| stocks.list[place].is_original);
            brand_lines += u8::from(item.is_original && is_brand);
        }
        let rates = [warehouse_tax, district_tax, discount];
        Ok(Entered { order, total_cents: total_cents(sum_cents, rates), brand_lines })
    }

    /// The order's number and the district's tax.
    async fn take_order_number(&mut self, input: &NewOrderInput) -> Result<(u32, u32), Abort> {
        let values = [int(input.warehouse), int(input.district)];
        let mut found = None;
        let visit = |row: &S::Row<'_>| {
            found = Some((narrow(row, 0)?, narrow(row, 1)?));
            Ok(())
        };
        self.ask(Query::OrderNumber, &values, visit).await?;
        let key = || format!("({}, {})", input.warehouse, input.district);
        let found = found.ok_or_else(|| missing("district", key()))?;
        if !self.is_returning() {
            self.tell(Query::NextOrder, &values).await?;
        }
        Ok(found)
    }

    /// The warehouse's tax and the customer's discount, which nobody changes.
    async fn buyer(&mut self, input: &NewOrderInput) -> Result<(u32, u32), Abort> {
        let NewOrderInput { warehouse, district, customer, .. } = *input;
        let values = [int(warehouse), int(warehouse), int(district), int(customer)];
        let mut found = None;
        let visit = |row: &S::Row<'_>| {
            found = Some((narrow(row, 0)?, narrow(row, 1)?));
            Ok(())
        };
        self.ask(Query::Buyer, &values, visit).await?;
        found.ok_or_else(|| missing("customer", format!("({warehouse}, {district}, {customer})")))
    }

    async fn add_order(&mut self, input: &NewOrderInput, order: u32) -> Result<(), WireError> {
        let lines = input.lines();
        let is_local = lines.iter().all(|line| line.supply_warehouse == input.warehouse);
        let key = [int(order), int(input.district), int(input.warehouse)];
        let [number, district, warehouse] = key;
        let (customer, date) = (int(input.customer), int(input.date as i64));
        let (count, is_local) = (int(lines.len() as i64), int(is_local));
        let values = [number, district, warehouse, customer, date, count, is_local];
        self.tell(Query::AddOrder, &values).await?;
        self.tell(Query::AddNewOrder, &key).await?;
        Ok(())
    }

    async fn items(&mut self, lines: &[Line]) -> Result<[Bought; LINES_MAX], WireError> {
        let mut bought = [Bought::default(); LINES_MAX];
        let rows = padded(lines.len());
        let mut values = Values::<LINES_MAX>::new();
        repeat_last(lines, rows).for_each(|line| values.push_int(line.item));
        let visit = |row: &S::Row<'_>| {
            let number: u32 = narrow(row, 0)?;
            let price_cents = int_of(row, 1)?;
            let is_original = is_original(text_of(row, 2)?);
            for (_, item) in lines.iter().zip(&mut bought).filter(|(line, _)| line.item == number) {
                *item = Bought { is_found: true, is_original, price_cents };
            }
            Ok(())
        };
        self.ask(Query::Items(rows), values.as_slice(), visit).await?;
        Ok(bought)
    }

    /// Locks and reads the stock, warehouse by warehouse.
    async fn stocks(&mut self, district: u8, stocks: &mut Stocks) -> Result<(), Abort> {
        let mut start = 0;
        while start < stocks.count {
            let group = stocks.group(start);
            start += group.len();
            let rows = padded(group.len());
            let mut values = Values::<{ 2 + LINES_MAX }>::new();
            values.push_int(district);
            values.push_int(group[0].warehouse);
            repeat_last(group, rows).for_each(|stock| values.push_int(stock.item));
            let visit = |row: &S::Row<'_>| {
                let number: u32 = narrow(row, 0)?;
                let Some(stock) = group.iter_mut().find(|stock| stock.item == number) else {
                    return Ok(());
                };
                stock.is_found = true;
                stock.quantity = int_of(row, 1)?;
                stock.is_original = is_original(text_of(row, 2)?);
                let info = text_of(row, 3)?;
                stock.info_length = info.len().min(stock.info.len());
                stock.info[..stock.info_length].copy_from_slice(&info[..stock.info_length]);
                Ok(())
            };
            self.ask(Query::Stock(rows), values.as_slice(), visit).await?;
            if let Some(absent) = group.iter().find(|stock| !stock.is_found) {
                return Err(missing("stock", format!("({}, {})", absent.warehouse, absent.item)));
            }
        }
        Ok(())
    }

    async fn take_stocks(&mut self, home: u16, stocks: &mut Stocks) -> Result<(), WireError> {
        let mut start = 0;
        while start < stocks.count {
            let group = &*stocks.group(start);
            start += group.len();
            let rows = padded(group.len());
            let is_remote = i64::from(group[0].warehouse != home);
            let columns: [fn(&Taken, i64) -> i64; 4] = [
                |stock, _| stock.quantity,
                |stock, _| stock.taken,
                |stock, _| stock.lines,
                |stock, is_remote| stock.lines * is_remote,
            ];
            let mut values = Values::<{ 9 * LINES_MAX + 1 }>::new();
            for column in columns {
                for stock in repeat_last(group, rows) {
                    values.push_int(stock.item);
                    values.push_int(column(stock, is_remote));
                }
            }
            values.push_int(group[0].warehouse);
            repeat_last(group, rows).for_each(|stock| values.push_int(stock.item));
            self.tell(Query::TakeStock(rows), values.as_slice()).await?;
        }
        Ok(())
    }

    async fn add_lines(
        &mut self,
        input: &NewOrderInput,
        order: u32,
        bought: &[Bought],
        stocks: &Stocks,
    ) -> Result<(), WireError> {
        let mut values = Values::<{ 9 * LINES_MAX }>::new();
        for ((number, line), item) in (1_u8..).zip(input.lines()).zip(bought) {
            values.push_int(order);
            values.push_int(input.district);
            values.push_int(input.warehouse);
            values.push_int(number);
            values.push_int(line.item);
            values.push_int(line.supply_warehouse);
            values.push_int(line.quantity);
            values.push_int(item.price_cents * i64::from(line.quantity));
            let stock = stocks.place(line).map(|place| &stocks.list[place]);
            let info = stock.map_or(&[][..], |stock| &stock.info[..stock.info_length]);
            values.push(Value::Text(info));
        }
        self.tell(Query::AddLines(bought.len()), values.as_slice()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_that_is_taken_twice_is_one_row_and_refilled_in_the_order_of_lines() {
        let line = |item, supply_warehouse, quantity| Line { item, supply_warehouse, quantity };
        let lines = [line(7, 2, 3), line(9, 1, 1), line(7, 2, 5), line(4, 2, 1)];
        let mut stocks = Stocks::of(&lines);
        stocks.list[..3].iter_mut().for_each(|stock| stock.quantity = 14);
        lines.iter().for_each(|line| stocks.take(line));
        let found = &stocks.list[..stocks.count];
        let keys: Vec<_> = found.iter().map(|stock| (stock.warehouse, stock.item)).collect();
        assert_eq!(keys, [(1, 9), (2, 4), (2, 7)]);
        let twice = stocks.list[2];
        assert_eq!((twice.quantity, twice.taken, twice.lines), (14 - 3 - 5 + 91, 8, 2));
        assert_eq!((stocks.group(0).len(), stocks.group(1).len()), (1, 2));
    }
}
