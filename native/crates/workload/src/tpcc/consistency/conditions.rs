//! One function per condition; `super` has the table of what each demands.

use super::{Census, DistrictFacts, Violation};
use crate::tpcc::keys;
use crate::tpcc::scale::Scale;

/// A check over what was read.
pub type Condition = fn(&Census) -> Vec<Violation>;

/// The secondary indexes and conditions 1 to 10 and 12.
pub const CONDITIONS: [Condition; 12] = [
    indexes,
    condition_1,
    condition_2,
    condition_3,
    condition_4,
    condition_5,
    condition_6,
    condition_7,
    condition_8,
    condition_9,
    condition_10,
    condition_12,
];

fn warehouse(key: u64) -> String {
    format!("warehouse {key}")
}

fn district(key: u64) -> String {
    let (warehouse, district) = keys::split_district(key);
    format!("warehouse {warehouse} district {district}")
}

fn order(key: u64) -> String {
    format!("{} order {}", district(keys::district_of_order(key)), keys::order_number(key))
}

fn customer(key: u64) -> String {
    let (place, number) = keys::split_customer(key);
    format!("{} customer {number}", district(place))
}

/// Compares two numbers in every district.
fn districts(
    census: &Census,
    condition: u8,
    difference: impl Fn(&DistrictFacts) -> Option<String>,
) -> Vec<Violation> {
    let places = census.districts.iter();
    let found = places.filter_map(|(key, facts)| Some((*key, difference(facts)?)));
    found
        .map(|(key, difference)| Violation { condition, place: district(key), difference })
        .collect()
}

fn condition_1(census: &Census) -> Vec<Violation> {
    let wrong =
        census.warehouses.iter().filter(|(_, facts)| facts.ytd_cents != facts.districts_ytd_cents);
    wrong
        .map(|(key, facts)| Violation {
            condition: 1,
            place: warehouse(*key),
            difference: format!(
                "W_YTD is {} cents, the D_YTD add up to {}",
                facts.ytd_cents, facts.districts_ytd_cents
            ),
        })
        .collect()
}

fn condition_2(census: &Census) -> Vec<Violation> {
    districts(census, 2, |facts| {
        let DistrictFacts { next_order, order_max, new_orders, new_order_max, .. } = *facts;
        let is_new_good = new_orders == 0 || new_order_max == order_max;
        (next_order != order_max + 1 || !is_new_good).then(|| {
            format!(
                "D_NEXT_O_ID is {next_order}, the largest O_ID {order_max}, the largest NO_O_ID \
                 {new_order_max} of {new_orders}"
            )
        })
    })
}

fn condition_3(census: &Census) -> Vec<Violation> {
    districts(census, 3, |facts| {
        let DistrictFacts { new_orders, new_order_min, new_order_max, .. } = *facts;
        let span = u64::from(new_order_max - new_order_min) + 1;
        (new_orders > 0 && span != new_orders).then(|| {
            format!("{new_orders} new orders lie between {new_order_min} and {new_order_max}")
        })
    })
}

fn condition_4(census: &Census) -> Vec<Violation> {
    districts(census, 4, |facts| {
        let DistrictFacts { lines_declared, lines, .. } = *facts;
        (lines_declared != lines)
            .then(|| format!("the O_OL_CNT add up to {lines_declared}, there are {lines} lines"))
    })
}

fn condition_5(census: &Census) -> Vec<Violation> {
    let wrong = census.orders.iter().filter_map(|(key, facts)| {
        let difference = match (facts.exists, facts.carrier, facts.is_new) {
            (false, _, true) => "in NEW-ORDER, but not in ORDER".to_owned(),
            (true, 0, false) => "has no carrier, but is not in NEW-ORDER".to_owned(),
            (true, 1.., true) => format!("has carrier {}, but is in NEW-ORDER", facts.carrier),
            _ => return None,
        };
        Some(Violation { condition: 5, place: order(*key), difference })
    });
    wrong.collect()
}

fn condition_6(census: &Census) -> Vec<Violation> {
    let wrong =
        census.orders.iter().filter(|(_, facts)| u32::from(facts.lines_declared) != facts.lines);
    wrong
        .map(|(key, facts)| Violation {
            condition: 6,
            place: order(*key),
            difference: match facts.exists {
                true => format!("O_OL_CNT is {}, lines {}", facts.lines_declared, facts.lines),
                false => format!("{} lines belong to no order", facts.lines),
            },
        })
        .collect()
}

fn condition_7(census: &Census) -> Vec<Violation> {
    let wrong = census.orders.iter().filter(|(_, facts)| {
        let expected = if facts.carrier == 0 { facts.lines } else { 0 };
        facts.exists && facts.lines_undelivered != expected
    });
    wrong
        .map(|(key, facts)| Violation {
            condition: 7,
            place: order(*key),
            difference: format!(
                "carrier is {} (0: none), {} of {} lines have no delivery date",
                facts.carrier, facts.lines_undelivered, facts.lines
            ),
        })
        .collect()
}

fn condition_8(census: &Census) -> Vec<Violation> {
    let wrong =
        census.warehouses.iter().filter(|(_, facts)| facts.ytd_cents != facts.history_cents);
    wrong
        .map(|(key, facts)| Violation {
            condition: 8,
            place: warehouse(*key),
            difference: format!(
                "W_YTD is {} cents, the history adds up to {}",
                facts.ytd_cents, facts.history_cents
            ),
        })
        .collect()
}

fn condition_9(census: &Census) -> Vec<Violation> {
    districts(census, 9, |facts| {
        let DistrictFacts { ytd_cents, history_cents, .. } = *facts;
        (ytd_cents != history_cents)
            .then(|| format!("D_YTD is {ytd_cents} cents, the history adds up to {history_cents}"))
    })
}

fn condition_10(census: &Census) -> Vec<Violation> {
    let wrong = census
        .customers
        .iter()
        .filter(|(_, facts)| facts.balance_cents != facts.delivered_cents - facts.history_cents);
    wrong
        .map(|(key, facts)| Violation {
            condition: 10,
            place: customer(*key),
            difference: format!(
                "C_BALANCE is {} cents, delivered lines are {} and the history {}",
                facts.balance_cents, facts.delivered_cents, facts.history_cents
            ),
        })
        .collect()
}

/// Only after loading.
pub(super) fn condition_11(census: &Census, scale: &Scale) -> Vec<Violation> {
    let delivered = u64::from(scale.initial_delivered());
    districts(census, 11, |facts| {
        let DistrictFacts { orders, new_orders, .. } = *facts;
        (orders != new_orders + delivered).then(|| {
            format!("{orders} orders less {new_orders} new orders should leave {delivered}")
        })
    })
}

fn condition_12(census: &Census) -> Vec<Violation> {
    let wrong = census.customers.iter().filter(|(_, facts)| {
        facts.balance_cents + facts.ytd_payment_cents != facts.delivered_cents
    });
    wrong
        .map(|(key, facts)| Violation {
            condition: 12,
            place: customer(*key),
            difference: format!(
                "C_BALANCE is {} cents, C_YTD_PAYMENT {}, delivered lines are {}",
                facts.balance_cents, facts.ytd_payment_cents, facts.delivered_cents
            ),
        })
        .collect()
}

/// Every customer and every order is in its secondary index exactly once.
fn indexes(census: &Census) -> Vec<Violation> {
    let customers = census.customers.iter().map(|(key, facts)| (customer(*key), facts.index_rows));
    let orders = census.orders.iter().map(|(key, facts)| (order(*key), facts.index_rows));
    let wrong = customers.chain(orders).filter(|(_, rows)| *rows != 1);
    wrong
        .map(|(place, rows)| {
            let difference = format!("{rows} rows in the secondary index instead of 1");
            Violation { condition: 0, place, difference }
        })
        .collect()
}
