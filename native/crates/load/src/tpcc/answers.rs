//! What a stand-in without data answers to the statements of the five transactions: rows of the
//! right shape, with values that a loaded database of the standard scale could have.
//!
//! Whatever is asked for is there, but for the unused item by which New-Order rolls back. Nothing
//! is remembered: a district's next order has always the same number, and every Delivery finds
//! ten orders. Tests compare the shapes with those of real servers.

use std::collections::HashMap;

use assay_wire::answers::{Answers, Column, ColumnType, Command, Shape};
use assay_wire::postgres::placeholders::numbered;
use assay_wire::sql::Value;
use assay_workload::tpcc::Scale;

use super::statements::{Flavour, Query, all, typed};
use super::texts::text;

/// Every order has so many lines, the mean of the specification.
const LINES: i64 = 10;
/// Customers of one last name, the mean of the specification.
const NAMESAKES: i64 = 3;
/// A district's next order, and its oldest that was not delivered, as they are after loading.
const NEXT_ORDER: i64 = 3001;
const OLDEST_NEW_ORDER: i64 = 2101;

const WAREHOUSE: [&str; 6] = ["w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"];
const DISTRICT: [&str; 6] = ["d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"];
const CUSTOMER: [&str; 15] = [
    "c_balance",
    "c_first",
    "c_middle",
    "c_last",
    "c_street_1",
    "c_street_2",
    "c_city",
    "c_state",
    "c_zip",
    "c_phone",
    "c_since",
    "c_credit",
    "c_credit_lim",
    "c_discount",
    "c_data",
]; // The last is the expression over C_DATA.

/// The answers of one flavour.
pub struct TpccAnswers {
    places: HashMap<String, usize>,
    statements: Vec<(Query, Shape)>,
    items: i64,
}

impl TpccAnswers {
    /// Those that a server of this flavour would give.
    pub fn new(flavour: Flavour) -> Self {
        let (mut places, mut statements) = (HashMap::new(), Vec::new());
        for query in all() {
            let (written, types) = typed(&text(query, flavour));
            let is_postgres = flavour == Flavour::Postgres;
            let written = if is_postgres { numbered(&written).0 } else { written };
            let shape = Shape {
                command: command(&written),
                parameters: types.len(),
                columns: columns(query, flavour).iter().map(|name| column(name)).collect(),
            };
            places.insert(written, statements.len());
            statements.push((query, shape));
        }
        let items = Scale::standard(1).items.into();
        Self { places, statements, items }
    }
}

fn command(text: &str) -> Command {
    match text.split(' ').next() {
        Some("INSERT") => Command::Insert,
        Some("UPDATE") => Command::Update,
        Some("DELETE") => Command::Delete,
        _ => Command::Select,
    }
}

/// The columns that a statement returns, none where it returns no rows.
fn columns(query: Query, flavour: Flavour) -> Vec<&'static str> {
    let is_returning = flavour == Flavour::Postgres;
    let returned = |names: &[&'static str]| if is_returning { names.to_vec() } else { Vec::new() };
    match query {
        Query::OrderNumber => vec!["d_next_o_id", "d_tax"],
        Query::Buyer => vec!["w_tax", "c_discount", "c_last", "c_credit"],
        Query::Items(_) => vec!["i_id", "i_price", "i_data", "i_name"],
        Query::Stock(_) => vec!["s_i_id", "s_quantity", "s_data", "s_dist"],
        Query::PayWarehouse => returned(&WAREHOUSE),
        Query::PayDistrict => returned(&DISTRICT),
        Query::PayCustomer => returned(&CUSTOMER),
        Query::Payment => [&WAREHOUSE[..], &DISTRICT, &CUSTOMER].concat(),
        Query::Named => vec!["c_id"],
        Query::Customer => CUSTOMER[..4].to_vec(),
        Query::LastOrder => vec!["o_id", "o_entry_d", "o_carrier_id"],
        Query::Lines => {
            vec!["ol_amount", "ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_delivery_d"]
        }
        Query::OldestNewOrder => vec!["no_o_id"],
        Query::Carry(_) => returned(&["o_d_id", "o_c_id"]),
        Query::Carried(_) => vec!["o_d_id", "o_c_id"],
        Query::DeliverLines(_) => returned(&["ol_d_id", "sum"]),
        Query::LineSums(_) => vec!["ol_d_id", "sum"],
        Query::Recent => vec!["d_next_o_id"],
        Query::LowStock => vec!["count"],
        Query::LastHistory => vec!["max"],
        Query::NextOrder
        | Query::TakeStock(_)
        | Query::AddOrder
        | Query::AddNewOrder
        | Query::AddLines(_)
        | Query::AddHistory
        | Query::RemoveNewOrder
        | Query::DeliverTo(_) => Vec::new(),
    }
}

fn column(name: &'static str) -> Column {
    let kind = match (name, cell(name, 0)) {
        ("sum", _) => ColumnType::Decimal,
        (
            "i_price" | "ol_amount" | "c_balance" | "c_since" | "c_credit_lim" | "o_entry_d"
            | "ol_delivery_d" | "count" | "max",
            _,
        ) => ColumnType::BigInt,
        (_, Value::Text(_)) => ColumnType::Text,
        _ => ColumnType::Int,
    };
    Column { name, kind }
}

/// The value of a column in the row of a key. Texts have the mean length that loading gives them.
fn cell(name: &str, key: i64) -> Value<'static> {
    // Multiplied by the golden ratio's bits, neighbouring keys lie far apart.
    let mixed = (key as u64 ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    let drawn = |least: i64, most: i64| Value::Int(least + mixed as i64 % (most - least + 1));
    match name {
        "d_next_o_id" => Value::Int(NEXT_ORDER),
        "no_o_id" => Value::Int(OLDEST_NEW_ORDER),
        "w_tax" | "d_tax" => drawn(0, 2000),
        "c_discount" => drawn(0, 5000),
        "c_id" | "o_c_id" | "o_id" => drawn(1, 3000),
        "o_carrier_id" | "ol_quantity" => drawn(1, 10),
        "i_price" => drawn(100, 10_000),
        "ol_amount" => drawn(1, 999_999),
        "sum" => drawn(1, LINES * 999_999),
        "s_quantity" => drawn(10, 100),
        "count" => drawn(0, 20),
        // Nothing was ever written.
        "max" => Value::Null,
        "c_balance" => Value::Int(-1000),
        "c_credit_lim" => Value::Int(5_000_000),
        "c_since" | "o_entry_d" | "ol_delivery_d" => Value::Int(1),
        "ol_i_id" => drawn(1, 100_000),
        "i_id" | "s_i_id" | "o_d_id" | "ol_d_id" | "ol_supply_w_id" => Value::Int(key),
        "w_name" | "d_name" => Value::Text(b"standin"),
        "c_first" => Value::Text(b"Stand-in row"),
        "c_middle" => Value::Text(b"OE"),
        "c_last" => Value::Text(b"BARBARBAR"),
        "w_state" | "d_state" | "c_state" => Value::Text(b"SI"),
        "w_zip" | "d_zip" | "c_zip" => Value::Text(b"000011111"),
        "c_phone" => Value::Text(b"0000000000000000"),
        "c_credit" => Value::Text(b"GC"),
        "c_data" => Value::Text(b""),
        "i_data" | "s_data" => Value::Text(b"data of a stand-in, 38 letters long..."),
        "i_name" => Value::Text(b"item of a stand-in"),
        "s_dist" => Value::Text(b"district info of 24 char"),
        // Streets and cities.
        _ => Value::Text(b"a stand-in town"),
    }
}

impl Answers for TpccAnswers {
    fn find(&self, text: &str) -> Option<usize> {
        self.places.get(text).copied()
    }

    fn shape(&self, statement: usize) -> &Shape {
        &self.statements[statement].1
    }

    fn answer(
        &self,
        statement: usize,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&[Value<'_>]),
    ) -> u64 {
        let (query, shape) = &self.statements[statement];
        let keys = self.keys(*query, values);
        if shape.columns.is_empty() {
            return keys.len() as u64;
        }
        let mut cells = Vec::with_capacity(shape.columns.len());
        for key in keys {
            cells.clear();
            cells.extend(shape.columns.iter().map(|column| cell(column.name, key)));
            row(&cells);
        }
        0
    }
}

impl TpccAnswers {
    /// The keys of the rows that a statement finds with its values, each once and in order.
    fn keys(&self, query: Query, values: &[Value<'_>]) -> Vec<i64> {
        // Of pairs of district and order, the districts.
        let districts = |start| distinct(values, start, 2);
        match query {
            Query::Items(_) => {
                let mut keys = distinct(values, 0, 1);
                keys.retain(|item| (1..=self.items).contains(item));
                keys
            }
            Query::Stock(_) => distinct(values, 2, 1),
            Query::TakeStock(rows) => distinct(values, values.len() - rows, 1),
            Query::Carry(_) | Query::DeliverLines(_) => districts(2),
            Query::Carried(_) | Query::LineSums(_) => districts(1),
            Query::DeliverTo(rows) => distinct(values, values.len() - 2 * rows, 2),
            Query::AddLines(rows) => (1..=rows as i64).collect(),
            Query::Lines => (1..=LINES).collect(),
            Query::Named => (1..=NAMESAKES).map(|place| mix(values) + place).collect(),
            _ => vec![mix(values)],
        }
    }
}

/// The integers from `start` on, each `step`, sorted, each once.
fn distinct(values: &[Value<'_>], start: usize, step: usize) -> Vec<i64> {
    let mut keys: Vec<_> = values.iter().skip(start).step_by(step).filter_map(int).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn int(value: &Value<'_>) -> Option<i64> {
    if let Value::Int(value) = value { Some(*value) } else { None }
}

/// One number for the integers among some values.
fn mix(values: &[Value<'_>]) -> i64 {
    let numbers = values.iter().filter_map(int);
    numbers.fold(0, |mixed: i64, value| mixed.wrapping_mul(31).wrapping_add(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(flavour: Flavour, query: Query, values: &[i64]) -> Vec<Vec<i64>> {
        let answers = TpccAnswers::new(flavour);
        let place = answers.statements.iter().position(|(known, _)| *known == query).unwrap();
        let values: Vec<_> = values.iter().map(|value| Value::Int(*value)).collect();
        assert_eq!(answers.shape(place).parameters, values.len());
        let mut found = Vec::new();
        let mut row = |row: &[Value<'_>]| found.push(row.iter().filter_map(int).collect());
        assert_eq!(answers.answer(place, &values, &mut row), 0);
        found
    }

    #[test]
    fn items_are_found_once_each_but_for_the_unused_one() {
        let items = rows(Flavour::MariaDb, Query::Items(5), &[7, 100_000, 100_001, 7, 7]);
        let numbers: Vec<_> = items.iter().map(|item| item[0]).collect();
        assert_eq!(numbers, [7, 100_000]);
        assert!(items.iter().all(|item| (100..=10_000).contains(&item[1])), "{items:?}");
    }

    #[test]
    fn a_delivery_finds_a_customer_and_a_sum_for_each_district() {
        let pairs = [1, 2101, 4, 2101, 9, 2101, 9, 2101, 9, 2101];
        for (flavour, query, before) in [
            (Flavour::Postgres, Query::Carry(5), &[3, 1][..]),
            (Flavour::Postgres, Query::DeliverLines(5), &[3, 1]),
            (Flavour::MariaDb, Query::Carried(5), &[1]),
            (Flavour::MariaDb, Query::LineSums(5), &[1]),
        ] {
            let found = rows(flavour, query, &[before, &pairs].concat());
            let districts: Vec<_> = found.iter().map(|row| row[0]).collect();
            assert_eq!(districts, [1, 4, 9], "{query:?}");
        }
    }
}
