//! The tables, as `sysbench prepare` makes them.

use assay_wire::sql::Dialect;

/// CREATE TABLE of table `number`, which counts from 1.
pub fn create_table(dialect: Dialect, number: u32) -> String {
    let (id, engine) = match dialect {
        Dialect::MySql => ("INTEGER NOT NULL AUTO_INCREMENT", " ENGINE = innodb"),
        Dialect::Postgres => ("SERIAL", ""),
    };
    format!(
        "CREATE TABLE sbtest{number} (id {id}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, \
         PRIMARY KEY (id)){engine}"
    )
}

/// CREATE INDEX of the column `k`.
pub fn create_index(number: u32) -> String {
    format!("CREATE INDEX k_{number} ON sbtest{number} (k)")
}

/// DROP TABLE, which may be missing.
pub fn drop_table(number: u32) -> String {
    format!("DROP TABLE IF EXISTS sbtest{number}")
}
