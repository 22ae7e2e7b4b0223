//! TPC-C's population, procedures and conditions over the reference tables.

use std::collections::BTreeMap;

use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Row, TableId, Tables};
use assay_workload::tpcc::draws::is_original;
use assay_workload::tpcc::inputs::{CustomerChoice, OrderStatusInput};
use assay_workload::tpcc::procedures::order_status;
use assay_workload::tpcc::rows::{
    Customer, CustomerByName, District, History, Item, NewOrder, Order, OrderByCustomer, OrderLine,
    Stock, TABLES, Warehouse,
};
use assay_workload::tpcc::{
    Census, Input, Kind, Outcome, Parameters, Plan, Scale, check_after_loading,
    check_after_running, keys, run,
};

use crate::support::{load, run_transactions, small};

const TRANSACTIONS: usize = 2000;

fn every<R: Row>(tables: &mut ReferenceTables) -> Vec<(u64, R)> {
    let mut rows = Vec::new();
    let all = usize::MAX;
    tables
        .scan_rows(keys::ALL, Direction::Forward, all, |key, row: &R| rows.push((key, row.clone())))
        .unwrap();
    rows
}

fn loaded_and_run() -> ReferenceTables {
    let plan = Plan::new(small(2)).unwrap();
    let mut tables = load(&plan);
    run_transactions(&plan, &mut tables, TRANSACTIONS);
    tables
}

fn violations(tables: &mut ReferenceTables) -> Vec<u8> {
    let violations = check_after_running(&Census::read(tables).unwrap());
    let mut conditions: Vec<u8> = violations.iter().map(|violation| violation.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    conditions
}

#[test]
fn tables_are_numbered_in_their_order_and_rows_are_whole_words() {
    for (place, schema) in TABLES.iter().enumerate() {
        assert_eq!(schema.id, TableId(place as u8));
        assert_eq!(schema.row_bytes % 8, 0, "{}", schema.name);
    }
    assert_eq!((Stock::BYTES, Customer::BYTES, OrderLine::BYTES), (320, 672, 48));
}

fn assert_counts(scale: Scale) {
    let plan = Plan::new(Parameters { scale, ..small(scale.warehouses) }).unwrap();
    let tables = load(&plan);
    let warehouses = usize::from(scale.warehouses);
    let customers = warehouses * 10 * usize::from(scale.customers);
    let expected = [
        (Warehouse::TABLE, warehouses),
        (District::TABLE, warehouses * 10),
        (Customer::TABLE, customers),
        (CustomerByName::TABLE, customers),
        (History::TABLE, customers),
        (Order::TABLE, customers),
        (OrderByCustomer::TABLE, customers),
        (NewOrder::TABLE, customers * 3 / 10),
        (Item::TABLE, scale.items as usize),
        (Stock::TABLE, warehouses * scale.items as usize),
    ];
    for (table, count) in expected {
        assert_eq!(tables.count(table), count, "{}", TABLES[usize::from(table.0)].name);
    }
    let lines = tables.count(OrderLine::TABLE) as f64 / customers as f64;
    assert!((lines - 10.0).abs() < 0.3, "{lines} lines per order");
}

#[test]
fn the_small_scale_has_its_cardinalities() {
    assert_counts(Scale::small(3));
}

#[test]
fn one_warehouse_of_the_specification_has_its_cardinalities() {
    assert_counts(Scale::standard(1));
}

#[test]
fn one_warehouse_of_the_specification_is_consistent_and_has_its_values() {
    let plan = Plan::new(Parameters::standard(1, crate::support::SEED)).unwrap();
    let mut tables = load(&plan);
    let census = Census::read(&mut tables).unwrap();
    assert_eq!(check_after_loading(&census, &plan.parameters().scale), []);
    let warehouse: Warehouse = tables.get(keys::warehouse(1)).unwrap();
    let district: District = tables.get(keys::district(1, 10)).unwrap();
    assert_eq!((warehouse.ytd_cents(), district.ytd_cents()), (30_000_000, 3_000_000));
    assert_eq!(district.next_order(), 3001);
    let mut names = BTreeMap::new();
    let mut bad = 0.0;
    for (key, customer) in every::<Customer>(&mut tables) {
        *names.entry((key >> 12, customer.last().to_vec())).or_insert(0) += 1;
        bad += f64::from(u8::from(customer.credit() == b"BC"));
        assert!((300..=500).contains(&customer.data().len()));
        assert_eq!((customer.balance_cents(), customer.phone().len()), (-1000, 16));
    }
    assert_eq!(names.len(), 10 * 1000, "every district has every last name");
    assert!((bad / 30_000.0 - 0.1_f64).abs() < 0.01, "{bad} customers with bad credit");
    let originals =
        every::<Stock>(&mut tables).into_iter().filter(|(_, row)| is_original(row.data()));
    let share = originals.count() as f64 / 100_000.0;
    assert!((share - 0.1).abs() < 0.005, "{share} of the stock is original");
    let originals =
        every::<Item>(&mut tables).into_iter().filter(|(_, row)| is_original(row.data()));
    let share = originals.count() as f64 / 100_000.0;
    assert!((share - 0.1).abs() < 0.005, "{share} of the items are original");
}

#[test]
fn warehouses_can_be_loaded_in_any_order() {
    let plan = Plan::new(small(2)).unwrap();
    let mut backwards = ReferenceTables::new(&TABLES);
    for warehouse in [2, 1] {
        plan.load_warehouse(warehouse, |table, key, row| backwards.load(table, key, row));
    }
    plan.load_items(|table, key, row| backwards.load(table, key, row));
    assert!(backwards == load(&plan));
}

#[test]
fn the_same_seed_gives_the_same_final_state_and_another_does_not() {
    let once = loaded_and_run();
    assert!(once == loaded_and_run());
    let plan = Plan::new(Parameters { seed: 43, ..small(2) }).unwrap();
    let mut other = load(&plan);
    run_transactions(&plan, &mut other, TRANSACTIONS);
    assert!(once != other);
}

#[test]
fn all_conditions_hold_after_loading_and_after_running() {
    let plan = Plan::new(small(2)).unwrap();
    let mut tables = load(&plan);
    let scale = &plan.parameters().scale;
    assert_eq!(check_after_loading(&Census::read(&mut tables).unwrap(), scale), []);
    run_transactions(&plan, &mut tables, TRANSACTIONS);
    let census = Census::read(&mut tables).unwrap();
    assert_eq!(check_after_running(&census), []);
    let delivered = census.orders.values().filter(|order| order.carrier > 0).count();
    assert!(delivered > 2 * 10 * 42 + 500, "{delivered} orders delivered");
}

#[test]
fn one_new_order_in_a_hundred_rolls_back_and_takes_no_number() {
    let plan = Plan::new(small(1)).unwrap();
    let mut tables = load(&plan);
    let unused = plan.parameters().scale.unused_item();
    let mut stream = plan.stream(0);
    let (mut asked, mut rolled_back, mut entered) = (0, 0, 0);
    for _ in 0..23 * 400 {
        let request = stream.take();
        let is_asked = matches!(&request.input, Input::NewOrder(input)
            if input.lines().last().unwrap().item == unused);
        let outcome = tables.transact(|tables| run(tables, &request.input));
        assert_eq!(outcome.is_err(), is_asked);
        asked += usize::from(is_asked);
        rolled_back += usize::from(outcome.is_err());
        entered += usize::from(matches!(outcome, Ok(Outcome::NewOrder(_))));
    }
    assert_eq!(rolled_back, asked);
    assert!((15..=70).contains(&rolled_back), "{rolled_back} of 4000");
    assert_eq!(tables.count(Order::TABLE), 600 + entered);
    assert_eq!(violations(&mut tables), []);
}

#[test]
fn every_kind_commits_and_delivery_empties_the_queue() {
    let plan = Plan::new(small(1)).unwrap();
    let mut tables = load(&plan);
    let mut stream = plan.stream(0);
    let mut seen = BTreeMap::new();
    let mut skipped = 0;
    while skipped == 0 {
        let request = stream.take();
        let kind = request.input.kind();
        if kind == Kind::NewOrder {
            continue;
        }
        let outcome = tables.transact(|tables| run(tables, &request.input)).unwrap();
        *seen.entry(kind.name()).or_insert(0) += 1;
        if let Outcome::Delivery(delivered) = outcome {
            assert_eq!(delivered.orders + delivered.skipped, 10);
            skipped = delivered.skipped;
        }
    }
    assert_eq!(seen.len(), 4);
    assert_eq!(seen["delivery"], 18 + 1, "eighteen orders per district wait after loading");
    assert_eq!(tables.count(NewOrder::TABLE), 0);
    assert_eq!(violations(&mut tables), []);
}

#[test]
fn a_name_finds_the_middle_customer_in_the_order_of_first_names() {
    let plan = Plan::new(small(1)).unwrap();
    let mut tables = load(&plan);
    // Name 7 belongs to customer 8 alone; four more get it, whose numbers say nothing about their
    // first names.
    tables.delete(CustomerByName::TABLE, keys::customer_by_name(1, 1, 7, 8)).unwrap();
    for (number, first, middle) in
        [(8, "Mia", 8), (20, "Ada", 20), (3, "Zoe", 8), (40, "Bob", 40), (9, "Cyd", 9)]
    {
        let mut row = CustomerByName::zeroed();
        row.set_first(first.as_bytes());
        tables.add(keys::customer_by_name(1, 1, 7, number), &row).unwrap();
        let customer = CustomerChoice::LastName(7);
        let input = OrderStatusInput { warehouse: 1, district: 1, customer };
        let status = order_status(&mut tables, &input).unwrap();
        assert_eq!(status.customer, middle, "after {first}");
        assert!(status.lines >= 5, "every customer has an order");
    }
}

type Change = fn(&mut ReferenceTables);

fn change<R: Row>(tables: &mut ReferenceTables, key: u64, change: impl FnOnce(&mut R)) {
    tables.update(key, change).unwrap();
}

/// What is broken, and which conditions must say so.
const SEEDED: [(&str, Change, &[u8]); 13] = [
    (
        "W_YTD",
        |tables| change(tables, keys::warehouse(1), |row: &mut Warehouse| row.set_ytd_cents(1)),
        &[1, 8],
    ),
    (
        "D_YTD",
        |tables| change(tables, keys::district(2, 3), |row: &mut District| row.set_ytd_cents(1)),
        &[1, 9],
    ),
    (
        "D_NEXT_O_ID",
        |tables| change(tables, keys::district(2, 3), |row: &mut District| row.set_next_order(1)),
        &[2],
    ),
    ("the newest new order", |tables| remove_new_order(tables, Direction::Backward, 0), &[2, 5]),
    (
        "a new order in the middle",
        |tables| remove_new_order(tables, Direction::Forward, 1),
        &[3, 5],
    ),
    ("a missing line", remove_last_line, &[4, 6]),
    (
        "a carrier of a new order",
        |tables| {
            let key = new_order(tables, Direction::Forward, 0);
            change(tables, key, |row: &mut Order| row.set_carrier(1));
        },
        &[5, 7],
    ),
    (
        "an order line that moved to another order",
        |tables| {
            let key = last_line(tables);
            let row: OrderLine = tables.get(key).unwrap();
            tables.remove::<OrderLine>(key).unwrap();
            tables.add(((keys::order_of_line(key) - 1) << 4) | 15, &row).unwrap();
        },
        &[6],
    ),
    (
        "a delivery date without a delivery",
        |tables| {
            let key = last_line(tables);
            change(tables, key, |row: &mut OrderLine| {
                row.set_delivery_date(9);
                row.set_amount_cents(0);
            });
        },
        &[7],
    ),
    (
        "a lost history row",
        |tables| tables.remove::<History>(first_history()).unwrap(),
        &[8, 9, 10],
    ),
    (
        "C_BALANCE",
        |tables| change(tables, first_customer(), |row: &mut Customer| row.set_balance_cents(7)),
        &[10, 12],
    ),
    (
        "C_YTD_PAYMENT",
        |tables| {
            change(tables, first_customer(), |row: &mut Customer| row.set_ytd_payment_cents(7));
        },
        &[12],
    ),
    (
        "a customer that its name does not find",
        |tables| tables.remove::<CustomerByName>(keys::customer_by_name(1, 1, 0, 1)).unwrap(),
        &[0],
    ),
];

fn new_order(tables: &mut ReferenceTables, direction: Direction, place: usize) -> u64 {
    let mut found = Vec::new();
    tables
        .scan(NewOrder::TABLE, keys::orders(1, 1), direction, place + 1, |key, _| found.push(key))
        .unwrap();
    found[place]
}

fn remove_new_order(tables: &mut ReferenceTables, direction: Direction, place: usize) {
    let key = new_order(tables, direction, place);
    tables.remove::<NewOrder>(key).unwrap();
}

/// The last line of the newest order of a district, which is not delivered.
fn last_line(tables: &mut ReferenceTables) -> u64 {
    let lines = keys::lines(1, 1, 0, keys::ORDER_MAX);
    tables.first::<OrderLine>(lines, Direction::Backward).unwrap().unwrap().0
}

fn remove_last_line(tables: &mut ReferenceTables) {
    let key = last_line(tables);
    tables.remove::<OrderLine>(key).unwrap();
}

fn first_customer() -> u64 {
    keys::customer(1, 1, 1)
}

/// The loader's payment of the first customer of the first district.
fn first_history() -> u64 {
    keys::history(0, (10 + 1) * 60 + 1)
}

#[test]
fn each_condition_catches_a_seeded_violation() {
    let tables = loaded_and_run();
    let mut caught: Vec<u8> = Vec::new();
    for (what, change, expected) in SEEDED {
        let mut broken = tables.clone();
        change(&mut broken);
        assert_eq!(violations(&mut broken), expected, "{what}");
        caught.extend(expected);
    }
    caught.sort_unstable();
    caught.dedup();
    assert_eq!(caught, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]);
}

#[test]
fn condition_11_catches_a_seeded_violation_after_loading() {
    let plan = Plan::new(small(1)).unwrap();
    let mut tables = load(&plan);
    remove_new_order(&mut tables, Direction::Forward, 0);
    let census = Census::read(&mut tables).unwrap();
    let violations = check_after_loading(&census, &plan.parameters().scale);
    let text = violations.last().unwrap().to_string();
    assert_eq!(
        text,
        "TPC-C consistency condition 11, warehouse 1 district 1: 60 orders less 17 new orders \
         should leave 42"
    );
}
