//! The tables in both dialects.
//!
//! Order of work: [`create`], load, [`finish`]. MySQL gets its primary keys at once, since InnoDB
//! keeps rows in their order; everything else is built over loaded tables, which costs less. Names
//! begin with `desk_`, so that TPC-C's tables may stand in the same database.

use assay_wire::WireError;
use assay_wire::sql::{Dialect, Session};

/// A table, its columns and its primary key.
struct Table {
    name: &'static str,
    columns: &'static str,
    primary_key: &'static str,
    /// Whether it has rows before anything has run.
    is_loaded: bool,
}

const TABLES: [Table; 7] = [
    Table {
        name: "desk_quote",
        columns: "q_instrument INTEGER, q_last BIGINT, q_volume BIGINT",
        primary_key: "q_instrument",
        is_loaded: true,
    },
    Table {
        name: "desk_position",
        columns: "h_account INTEGER, h_instrument INTEGER, h_quantity BIGINT",
        primary_key: "h_account, h_instrument",
        is_loaded: true,
    },
    Table {
        name: "desk_cash",
        columns: "c_account INTEGER, c_balance BIGINT",
        primary_key: "c_account",
        is_loaded: true,
    },
    Table {
        name: "desk_order",
        columns: "o_id BIGINT, o_account INTEGER, o_instrument INTEGER, o_is_sell INTEGER, \
                  o_price BIGINT, o_quantity BIGINT, o_state INTEGER, o_trade BIGINT",
        primary_key: "o_id",
        is_loaded: false,
    },
    Table {
        name: "desk_open_order",
        columns: "p_instrument INTEGER, p_place BIGINT, p_order BIGINT",
        primary_key: "p_instrument, p_place",
        is_loaded: false,
    },
    Table {
        name: "desk_trade",
        columns: "t_id BIGINT, t_order BIGINT, t_price BIGINT, t_quantity BIGINT",
        primary_key: "t_id",
        is_loaded: false,
    },
    Table {
        name: "desk_leg",
        columns: "l_trade BIGINT, l_side INTEGER, l_account INTEGER, l_instrument INTEGER, \
                  l_cash BIGINT, l_quantity BIGINT",
        primary_key: "l_trade, l_side",
        is_loaded: false,
    },
];

/// The statements that make the tables.
pub fn tables(dialect: Dialect) -> Vec<String> {
    TABLES.iter().map(|table| table.text(dialect)).collect()
}

/// The statements to run after loading: keys, the index, statistics of what has rows. PostgreSQL
/// plans for a table that it was never told of as for one of some pages, and for one that it was
/// told is empty as if that stayed so: it would read the whole table again and again.
pub fn after_loading(dialect: Dialect) -> Vec<String> {
    let mut texts = Vec::new();
    if dialect == Dialect::Postgres {
        texts.extend(TABLES.iter().map(|Table { name, primary_key, .. }| {
            format!("ALTER TABLE {name} ADD PRIMARY KEY ({primary_key})")
        }));
    }
    texts.push("CREATE UNIQUE INDEX desk_order_by_account ON desk_order (o_account, o_id)".into());
    let verb = match dialect {
        Dialect::MySql => "ANALYZE TABLE",
        Dialect::Postgres => "VACUUM ANALYZE",
    };
    let loaded = TABLES.iter().filter(|table| table.is_loaded);
    texts.extend(loaded.map(|table| format!("{verb} {}", table.name)));
    texts
}

/// The statements that remove the tables, if they are there.
pub fn removal() -> Vec<String> {
    TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {}", table.name)).collect()
}

impl Table {
    fn text(&self, dialect: Dialect) -> String {
        let columns = self.columns.replace(',', " NOT NULL,");
        let Self { name, primary_key, .. } = self;
        match dialect {
            Dialect::MySql => format!(
                "CREATE TABLE {name} ({columns} NOT NULL, PRIMARY KEY ({primary_key})) ENGINE=InnoDB"
            ),
            Dialect::Postgres => format!("CREATE TABLE {name} ({columns} NOT NULL)"),
        }
    }
}

/// Makes the tables.
///
/// # Errors
/// Any of the session; a table that is there already is one.
pub async fn create<S: Session>(session: &mut S) -> Result<(), WireError> {
    run(session, tables(S::DIALECT)).await
}

/// Builds keys and the index over loaded tables and has the server look at them.
///
/// # Errors
/// Any of the session.
pub async fn finish<S: Session>(session: &mut S) -> Result<(), WireError> {
    run(session, after_loading(S::DIALECT)).await
}

/// Removes the tables, if they are there.
///
/// # Errors
/// Any of the session.
pub async fn remove<S: Session>(session: &mut S) -> Result<(), WireError> {
    run(session, removal()).await
}

async fn run<S: Session>(session: &mut S, texts: Vec<String>) -> Result<(), WireError> {
    for text in texts {
        session.batch(&text).await?;
    }
    Ok(())
}
