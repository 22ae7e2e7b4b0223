//! The nine tables of clause 1.3 in both dialects.
//!
//! Order of work: [`create`], load, [`finish`]. MySQL gets its primary keys at once, since InnoDB
//! keeps rows in their order; everything else is built over loaded tables, which costs less.
//! Texts compare by their bytes, because customers of one last name are in that order in the
//! workload. No column is null (zero stands for null), and no column is DECIMAL: sums are exact.

use assay_wire::sql::{Dialect, Session};

use super::TpccError;

/// What is created beside the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The foreign keys of clause 1.3. Off, they cost nothing and check nothing.
    pub has_foreign_keys: bool,
}

/// A table, its columns and its primary key.
struct Table {
    name: &'static str,
    /// Name and type, with `~` where a text's collation belongs.
    columns: &'static str,
    primary_key: &'static str,
}

const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: "w_id INTEGER, w_name VARCHAR(10)~, w_street_1 VARCHAR(20)~, \
                  w_street_2 VARCHAR(20)~, w_city VARCHAR(20)~, w_state CHAR(2)~, \
                  w_zip CHAR(9)~, w_tax INTEGER, w_ytd BIGINT",
        primary_key: "w_id",
    },
    Table {
        name: "district",
        columns: "d_id INTEGER, d_w_id INTEGER, d_name VARCHAR(10)~, d_street_1 VARCHAR(20)~, \
                  d_street_2 VARCHAR(20)~, d_city VARCHAR(20)~, d_state CHAR(2)~, \
                  d_zip CHAR(9)~, d_tax INTEGER, d_ytd BIGINT, d_next_o_id INTEGER",
        primary_key: "d_w_id, d_id",
    },
    Table {
        name: "customer",
        columns: "c_id INTEGER, c_d_id INTEGER, c_w_id INTEGER, c_first VARCHAR(16)~, \
                  c_middle CHAR(2)~, c_last VARCHAR(16)~, c_street_1 VARCHAR(20)~, \
                  c_street_2 VARCHAR(20)~, c_city VARCHAR(20)~, c_state CHAR(2)~, \
                  c_zip CHAR(9)~, c_phone CHAR(16)~, c_since BIGINT, c_credit CHAR(2)~, \
                  c_credit_lim BIGINT, c_discount INTEGER, c_balance BIGINT, \
                  c_ytd_payment BIGINT, c_payment_cnt INTEGER, c_delivery_cnt INTEGER, \
                  c_data VARCHAR(500)~",
        primary_key: "c_w_id, c_d_id, c_id",
    },
    Table {
        name: "history",
        columns: "h_writer INTEGER, h_seq BIGINT, h_c_id INTEGER, h_c_d_id INTEGER, \
                  h_c_w_id INTEGER, h_d_id INTEGER, h_w_id INTEGER, h_date BIGINT, \
                  h_amount BIGINT, h_data VARCHAR(24)~",
        primary_key: "h_writer, h_seq",
    },
    Table {
        name: "new_order",
        columns: "no_o_id INTEGER, no_d_id INTEGER, no_w_id INTEGER",
        primary_key: "no_w_id, no_d_id, no_o_id",
    },
    Table {
        name: "orders",
        columns: "o_id INTEGER, o_d_id INTEGER, o_w_id INTEGER, o_c_id INTEGER, \
                  o_entry_d BIGINT, o_carrier_id INTEGER, o_ol_cnt INTEGER, o_all_local INTEGER",
        primary_key: "o_w_id, o_d_id, o_id",
    },
    Table {
        name: "order_line",
        columns: "ol_o_id INTEGER, ol_d_id INTEGER, ol_w_id INTEGER, ol_number INTEGER, \
                  ol_i_id INTEGER, ol_supply_w_id INTEGER, ol_delivery_d BIGINT, \
                  ol_quantity INTEGER, ol_amount BIGINT, ol_dist_info CHAR(24)~",
        primary_key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
    },
    Table {
        name: "item",
        columns: "i_id INTEGER, i_im_id INTEGER, i_name VARCHAR(24)~, i_price BIGINT, \
                  i_data VARCHAR(50)~",
        primary_key: "i_id",
    },
    Table {
        name: "stock",
        columns: "s_i_id INTEGER, s_w_id INTEGER, s_quantity INTEGER, s_dist_01 CHAR(24)~, \
                  s_dist_02 CHAR(24)~, s_dist_03 CHAR(24)~, s_dist_04 CHAR(24)~, \
                  s_dist_05 CHAR(24)~, s_dist_06 CHAR(24)~, s_dist_07 CHAR(24)~, \
                  s_dist_08 CHAR(24)~, s_dist_09 CHAR(24)~, s_dist_10 CHAR(24)~, s_ytd BIGINT, \
                  s_order_cnt INTEGER, s_remote_cnt INTEGER, s_data VARCHAR(50)~",
        primary_key: "s_w_id, s_i_id",
    },
];

const INDEXES: [&str; 2] = [
    "CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE UNIQUE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Table, its columns, the table that they refer to, its columns.
const FOREIGN_KEYS: [[&str; 4]; 9] = [
    ["district", "d_w_id", "warehouse", "w_id"],
    ["customer", "c_w_id, c_d_id", "district", "d_w_id, d_id"],
    ["history", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"],
    ["history", "h_w_id, h_d_id", "district", "d_w_id, d_id"],
    ["orders", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id"],
    ["new_order", "no_w_id, no_d_id, no_o_id", "orders", "o_w_id, o_d_id, o_id"],
    ["order_line", "ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"],
    ["order_line", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"],
    ["stock", "s_i_id", "item", "i_id"],
];

/// The statements that make the tables.
pub fn tables(dialect: Dialect) -> Vec<String> {
    TABLES.iter().map(|table| table.text(dialect)).collect()
}

/// The statements to run after loading: keys, indexes, statistics.
pub fn after_loading(dialect: Dialect, options: Options) -> Vec<String> {
    let mut texts = Vec::new();
    if dialect == Dialect::Postgres {
        texts.extend(TABLES.iter().map(|Table { name, primary_key, .. }| {
            format!("ALTER TABLE {name} ADD PRIMARY KEY ({primary_key})")
        }));
    }
    texts.extend(INDEXES.map(str::to_owned));
    if options.has_foreign_keys {
        texts.push("CREATE INDEX stock_by_item ON stock (s_i_id)".to_owned());
        texts.extend(FOREIGN_KEYS.map(|[table, columns, referred, theirs]| {
            format!(
                "ALTER TABLE {table} ADD FOREIGN KEY ({columns}) REFERENCES {referred} ({theirs})"
            )
        }));
    }
    let verb = match dialect {
        Dialect::MySql => "ANALYZE TABLE",
        Dialect::Postgres => "VACUUM ANALYZE",
    };
    texts.extend(TABLES.iter().map(|table| format!("{verb} {}", table.name)));
    texts
}

/// The statements that remove the tables, if they are there; first whatever refers to others.
pub fn removal() -> Vec<String> {
    const ORDER: [&str; 9] = [
        "order_line",
        "new_order",
        "history",
        "orders",
        "stock",
        "item",
        "customer",
        "district",
        "warehouse",
    ];
    ORDER.map(|name| format!("DROP TABLE IF EXISTS {name}")).into()
}

impl Table {
    fn text(&self, dialect: Dialect) -> String {
        let collation = match dialect {
            // The table's.
            Dialect::MySql => "",
            Dialect::Postgres => " COLLATE \"C\"",
        };
        let columns: Vec<_> =
            self.columns.split(", ").map(|column| format!("{column} NOT NULL")).collect();
        let columns = columns.join(", ").replace('~', collation);
        let Self { name, primary_key, .. } = self;
        match dialect {
            Dialect::MySql => format!(
                "CREATE TABLE {name} ({columns}, PRIMARY KEY ({primary_key})) \
                 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
            ),
            Dialect::Postgres => format!("CREATE TABLE {name} ({columns})"),
        }
    }
}

/// Makes the tables.
///
/// # Errors
/// Any of the session; a table that is there already is one.
pub async fn create<S: Session>(session: &mut S) -> Result<(), TpccError> {
    run(session, tables(S::DIALECT)).await
}

/// Builds keys and indexes over loaded tables and has the server look at them.
///
/// # Errors
/// Any of the session.
pub async fn finish<S: Session>(session: &mut S, options: Options) -> Result<(), TpccError> {
    run(session, after_loading(S::DIALECT, options)).await
}

/// Removes the tables, if they are there.
///
/// # Errors
/// Any of the session.
pub async fn remove<S: Session>(session: &mut S) -> Result<(), TpccError> {
    run(session, removal()).await
}

async fn run<S: Session>(session: &mut S, texts: Vec<String>) -> Result<(), TpccError> {
    for text in texts {
        session.batch(&text).await?;
    }
    Ok(())
}
