//! The texts of the statements: templates with `?` for integers and `@` for texts.

use super::statements::{Flavour, Query};

const LOCK_DISTRICT: &str =
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE";
const TAKE_NUMBER: &str =
    "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?";
const SHOWN_WAREHOUSE: &str = "w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
const SHOWN_DISTRICT: &str = "d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
const SHOWN_CUSTOMER: &str = "c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
     c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, \
     CASE WHEN c_credit = 'BC' THEN LEFT(c_data, 200) ELSE '' END";
const PAY_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
     c_payment_cnt = c_payment_cnt + 1, \
     c_data = CASE WHEN c_credit = 'BC' THEN LEFT(CONCAT(@, c_data), 500) ELSE c_data END \
     WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const OLDEST: &str = "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                      ORDER BY no_o_id LIMIT 1 FOR UPDATE";
const REMOVE: &str = "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ?";

/// The template of a statement.
pub fn text(query: Query, flavour: Flavour) -> String {
    let is_returning = flavour == Flavour::Postgres;
    match query {
        Query::OrderNumber if is_returning => {
            format!("{TAKE_NUMBER} RETURNING d_next_o_id - 1, d_tax")
        }
        Query::OrderNumber => LOCK_DISTRICT.to_owned(),
        Query::NextOrder => TAKE_NUMBER.to_owned(),
        Query::Buyer => "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer \
                         WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?"
            .to_owned(),
        Query::Items(rows) => {
            format!(
                "SELECT i_id, i_price, i_data, i_name FROM item WHERE i_id IN ({})",
                list("?", rows)
            )
        }
        Query::Stock(rows) => stock(rows),
        Query::TakeStock(rows) => take_stock(rows),
        Query::AddOrder => "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, \
                            o_carrier_id, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, 0, ?, ?)"
            .to_owned(),
        Query::AddNewOrder => {
            "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)".to_owned()
        }
        Query::AddLines(rows) => format!(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
             ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
            list("(?, ?, ?, ?, ?, ?, 0, ?, ?, @)", rows)
        ),
        Query::Recent => "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?".into(),
        Query::LowStock => "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock \
                            ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                            WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id <= ? \
                            AND s_quantity < ?"
            .to_owned(),
        _ => payment_or_status(query, is_returning).unwrap_or_else(|| delivery(query, flavour)),
    }
}

fn payment_or_status(query: Query, is_returning: bool) -> Option<String> {
    let returning =
        |shown| if is_returning { format!(" RETURNING {shown}") } else { String::new() };
    Some(match query {
        Query::PayWarehouse => {
            let text = "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
            text.to_owned() + &returning(SHOWN_WAREHOUSE)
        }
        Query::PayDistrict => {
            let text = "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
            text.to_owned() + &returning(SHOWN_DISTRICT)
        }
        Query::PayCustomer => PAY_CUSTOMER.to_owned() + &returning(SHOWN_CUSTOMER),
        Query::Payment => format!(
            "SELECT {SHOWN_WAREHOUSE}, {SHOWN_DISTRICT}, {SHOWN_CUSTOMER} \
             FROM warehouse, district, customer WHERE w_id = ? AND d_w_id = ? AND d_id = ? \
             AND c_w_id = ? AND c_d_id = ? AND c_id = ?"
        ),
        Query::AddHistory => "INSERT INTO history (h_writer, h_seq, h_c_id, h_c_d_id, h_c_w_id, \
                              h_d_id, h_w_id, h_date, h_amount, h_data) \
                              VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, @)"
            .to_owned(),
        Query::LastHistory => "SELECT MAX(h_seq) FROM history WHERE h_writer = ?".to_owned(),
        Query::Named => "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? \
                         AND c_last = @ ORDER BY c_first, c_id"
            .to_owned(),
        Query::Customer => "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                            WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            .to_owned(),
        Query::LastOrder => "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? \
                             AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1"
            .to_owned(),
        Query::Lines => "SELECT ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d \
                         FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            .to_owned(),
        _ => return None,
    })
}

fn delivery(query: Query, flavour: Flavour) -> String {
    let is_returning = flavour == Flavour::Postgres;
    let orders = |rows| either("(o_d_id = ? AND o_id = ?)", rows);
    let lines = |rows| either("(ol_d_id = ? AND ol_o_id = ?)", rows);
    match query {
        Query::OldestNewOrder => match flavour {
            Flavour::Postgres => format!("{REMOVE} AND no_o_id = ({OLDEST}) RETURNING no_o_id"),
            Flavour::MariaDb => format!("{REMOVE} ORDER BY no_o_id LIMIT 1 RETURNING no_o_id"),
            Flavour::MySql => OLDEST.to_owned(),
        },
        Query::Carry(rows) => {
            let returning = if is_returning { " RETURNING o_d_id, o_c_id" } else { "" };
            format!(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND ({}){returning}",
                orders(rows)
            )
        }
        Query::Carried(rows) => {
            format!("SELECT o_d_id, o_c_id FROM orders WHERE o_w_id = ? AND ({})", orders(rows))
        }
        Query::DeliverLines(rows) => {
            let update = format!(
                "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ({})",
                lines(rows)
            );
            if !is_returning {
                return update;
            }
            format!(
                "WITH delivered AS ({update} RETURNING ol_d_id, ol_amount) \
                 SELECT ol_d_id, SUM(ol_amount) FROM delivered GROUP BY ol_d_id"
            )
        }
        Query::LineSums(rows) => format!(
            "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ({}) \
             GROUP BY ol_d_id",
            lines(rows)
        ),
        Query::DeliverTo(rows) => format!(
            "UPDATE customer SET c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = ? AND ({})",
            case("c_d_id", rows),
            either("(c_d_id = ? AND c_id = ?)", rows)
        ),
        // Query::RemoveNewOrder; the others have their texts above.
        _ => format!("{REMOVE} AND no_o_id = ?"),
    }
}

/// The parameters: district, warehouse, items.
fn stock(rows: usize) -> String {
    let infos: String = (1..=10).map(|n| format!(" WHEN {n} THEN s_dist_{n:02}")).collect();
    format!(
        "SELECT s_i_id, s_quantity, s_data, CASE ?{infos} END FROM stock \
         WHERE s_w_id = ? AND s_i_id IN ({}) ORDER BY s_i_id FOR UPDATE",
        list("?", rows)
    )
}

/// The parameters: for each column pairs of item and value; warehouse, items.
fn take_stock(rows: usize) -> String {
    let case = case("s_i_id", rows);
    format!(
        "UPDATE stock SET s_quantity = {case}, s_ytd = s_ytd + {case}, \
         s_order_cnt = s_order_cnt + {case}, s_remote_cnt = s_remote_cnt + {case} \
         WHERE s_w_id = ? AND s_i_id IN ({})",
        list("?", rows)
    )
}

fn case(column: &str, rows: usize) -> String {
    format!("CASE {column} {} END", vec!["WHEN ? THEN ?"; rows].join(" "))
}

fn list(element: &str, rows: usize) -> String {
    vec![element; rows].join(", ")
}

fn either(condition: &str, rows: usize) -> String {
    vec![condition; rows].join(" OR ")
}
