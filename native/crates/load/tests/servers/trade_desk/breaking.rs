//! A corrupted row makes the right invariant fail, by its name.

use assay_load::clients::Open;
use assay_load::trade_desk::Desk;
use assay_workload::trade_desk::{Input, Placement};

use super::desks::{Database, Maria, Pg, on_mariadb, on_postgres, plan, run_text, violated};
use crate::support::block_on;

/// How something is broken, and the invariants that must say so. Of the two orders the first, 1, is
/// filled by trade 3; the other, 2, is open.
const SEEDED: [(&str, &[&str]); 13] = [
    (
        "UPDATE desk_cash SET c_balance = c_balance + 1 WHERE c_account = 5",
        &["conserved", "explained"],
    ),
    (
        "UPDATE desk_position SET h_quantity = h_quantity - 1 WHERE h_account = 5 \
         AND h_instrument = 0",
        &["conserved", "explained"],
    ),
    (
        "UPDATE desk_cash SET c_balance = c_balance + CASE c_account WHEN 5 THEN 1 ELSE -1 END \
         WHERE c_account IN (5, 6)",
        &["explained"],
    ),
    (
        "UPDATE desk_position SET h_quantity = -1 WHERE h_account = 5 AND h_instrument = 0",
        &["conserved", "explained", "solvent"],
    ),
    ("DELETE FROM desk_leg WHERE l_trade = 3 AND l_side = 1", &["explained", "two legs"]),
    ("UPDATE desk_trade SET t_price = t_price + 1 WHERE t_id = 3", &["two legs"]),
    ("UPDATE desk_order SET o_trade = 4 WHERE o_id = 1", &["no orphan fill"]),
    ("DELETE FROM desk_order WHERE o_id = 1", &["no orphan fill", "volume"]),
    ("UPDATE desk_order SET o_state = 2 WHERE o_id = 1", &["no orphan fill"]),
    ("UPDATE desk_quote SET q_volume = q_volume + 1 WHERE q_instrument = 0", &["volume"]),
    ("DELETE FROM desk_open_order WHERE p_order = 2", &["open"]),
    ("UPDATE desk_order SET o_state = 2 WHERE o_id = 2", &["open"]),
    ("INSERT INTO desk_position VALUES (0, 9, 7)", &["conserved", "explained"]),
];

fn offer(sequence: u32) -> Input {
    Input::PlaceOrder(Placement {
        account: 1,
        instrument: 0,
        is_sell: true,
        quantity: 2,
        distance_e4: 0,
        own: (0, sequence),
    })
}

/// Breaks one thing after the other; between them the table is put back from a copy.
fn corruption<S: Open>(database: &Database) {
    database.load::<S>(&plan());
    let mut desk = block_on(Desk::new(database.open::<S>())).unwrap();
    for input in [offer(1), offer(2), Input::Trade { account: 2, instrument: 0, own: (0, 3) }] {
        block_on(desk.run(&input)).unwrap();
    }
    let mut session = desk.into_session();
    assert_eq!(violated(&mut session), [""; 0]);
    for (change, expected) in SEEDED {
        let table = change.split(' ').nth(if change.starts_with('U') { 1 } else { 2 }).unwrap();
        run_text(&mut session, &format!("CREATE TABLE kept AS SELECT * FROM {table}"));
        run_text(&mut session, change);
        assert_eq!(violated(&mut session), expected, "{change}");
        run_text(&mut session, &format!("DELETE FROM {table}"));
        run_text(&mut session, &format!("INSERT INTO {table} SELECT * FROM kept"));
        run_text(&mut session, "DROP TABLE kept");
    }
    assert_eq!(violated(&mut session), [""; 0]);
}

#[test]
fn a_corrupted_row_in_postgres_makes_its_invariants_fail_by_name() {
    corruption::<Pg>(&on_postgres());
}

#[test]
fn a_corrupted_row_in_mariadb_makes_its_invariants_fail_by_name() {
    corruption::<Maria>(&on_mariadb());
}
