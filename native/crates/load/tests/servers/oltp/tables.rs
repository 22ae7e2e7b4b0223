//! The tables against those that `sysbench prepare` makes.

use assay_load::oltp::{create, finish, load};
use assay_wire::sql::{Row, Session};
use assay_wire::{mysql, postgres};
use assay_workload::oltp::{Parameters, Plan, Test};

use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;
use crate::support::{block_on, output, select, text};

/// More than one statement of rows.
const ROWS: u32 = 700;
const WORDS: [&str; 3] = ["--tables=2", "--table-size=700", "prepare"];

fn plan() -> Plan {
    let parameters =
        Parameters { tables: 2, table_size: ROWS, ..Parameters::defaults(Test::ReadWrite, 3) };
    Plan::new(parameters).unwrap()
}

/// By two sessions at once, from the last table to the first: rows do not depend on who loads them.
fn prepare<S: Session>(connect: impl Fn() -> S + Sync) {
    let session = &mut connect();
    block_on(create(session, &plan())).unwrap();
    for table in [2, 1] {
        std::thread::scope(|scope| {
            // Sessions stay on their thread.
            scope.spawn(|| block_on(load(&mut connect(), &plan(), table, 500..ROWS + 1)).unwrap());
            block_on(load(session, &plan(), table, 1..500)).unwrap();
        });
    }
    block_on(finish(session, &plan())).unwrap();
}

fn maria_shape(session: &mut mysql::Session, database: &str) -> Vec<String> {
    let queries = [
        "SELECT JSON_ARRAY(table_name, engine, row_format, table_collation, auto_increment, \
         create_options) FROM information_schema.tables WHERE table_schema = '?' \
         ORDER BY table_name",
        "SELECT JSON_ARRAY(table_name, column_name, ordinal_position, column_default, is_nullable, \
         data_type, character_maximum_length, numeric_precision, numeric_scale, \
         character_set_name, collation_name, column_type, column_key, extra, is_generated) \
         FROM information_schema.columns WHERE table_schema = '?' \
         ORDER BY table_name, ordinal_position",
        "SELECT JSON_ARRAY(table_name, index_name, non_unique, seq_in_index, column_name, \
         collation, sub_part, nullable, index_type) \
         FROM information_schema.statistics WHERE table_schema = '?' \
         ORDER BY table_name, index_name, seq_in_index",
    ];
    let rows = |query: &str| select(session, &query.replace('?', database), |row| text(row, 0));
    queries.into_iter().flat_map(rows).collect()
}

/// The rows of a query for id, k, c and pad.
fn rows<S: Session>(session: &mut S, query: &str) -> Vec<(u32, u32, String, String)> {
    select(session, query, |row| {
        let int = |column| row.int(column).unwrap().unwrap() as u32;
        (int(0), int(1), text(row, 2), text(row, 3))
    })
}

#[test]
fn mariadb_describes_our_tables_as_those_of_sysbench() {
    let server = MariaDb::shared();
    server.create("theirs");
    server.create("ours");
    output(server.sysbench("theirs", "oltp_read_write").args(WORDS));
    prepare(|| server.session("ours"));
    let mut session = server.session("information_schema");
    let ours = maria_shape(&mut session, "ours");
    assert_eq!(ours.len(), 2 + 8 + 4, "tables, columns, indexed columns");
    assert_eq!(ours, maria_shape(&mut session, "theirs"));

    let rows = rows(&mut session, "SELECT id, k, c, pad FROM ours.sbtest2 ORDER BY id");
    let c_bytes = "SELECT MIN(LENGTH(c)), MAX(LENGTH(c)), MIN(LENGTH(pad)), MAX(LENGTH(pad)) FROM ";
    let bytes = ["ours.sbtest2", "theirs.sbtest2"].map(|table| {
        select(&mut session, &format!("{c_bytes}{table}"), |row| {
            [0, 1, 2, 3].map(|column| row.int(column).unwrap().unwrap())
        })
    });
    assert_eq!(bytes[0].len(), 1);
    assert_eq!(bytes[0], bytes[1]);
    assert_rows(rows);
}

fn postgres_shape(session: &mut postgres::Session) -> Vec<String> {
    let queries = [
        "SELECT row(table_name, column_name, ordinal_position, column_default, is_nullable, \
         data_type, character_maximum_length, numeric_precision, udt_name, is_identity)::text \
         FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1",
        "SELECT row(tablename, indexname, indexdef)::text FROM pg_indexes \
         WHERE schemaname = 'public' ORDER BY 1",
        "SELECT row(sequencename, start_value, max_value, increment_by, cycle, data_type, \
         last_value)::text FROM pg_sequences ORDER BY 1",
        "SELECT row(conrelid::regclass, conname, contype)::text FROM pg_constraint \
         WHERE connamespace = 'public'::regnamespace ORDER BY 1",
    ];
    queries.into_iter().flat_map(|query| select(session, query, |row| text(row, 0))).collect()
}

#[test]
fn postgres_describes_our_tables_as_those_of_sysbench() {
    let server = Postgres::shared();
    server.create("theirs");
    server.create("ours");
    output(server.sysbench("theirs", "oltp_read_write").args(WORDS));
    prepare(|| server.session("ours"));
    let mut session = server.session("ours");
    let ours = postgres_shape(&mut session);
    assert_eq!(ours.len(), 8 + 4 + 2 + 2, "columns, indexes, sequences, constraints");
    assert_eq!(ours, postgres_shape(&mut server.session("theirs")));

    let mut rows = rows(&mut session, "SELECT id, k, c, pad FROM sbtest2 ORDER BY id");
    for (_, _, c, pad) in &mut rows {
        // PostgreSQL pads CHAR with spaces.
        c.truncate(c.trim_end().len());
        pad.truncate(pad.trim_end().len());
    }
    assert_rows(rows);
}

fn assert_rows(rows: Vec<(u32, u32, String, String)>) {
    let expected = (1..=ROWS).map(|id| {
        let row = plan().row(2, id);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (id, row.k, text(&row.c), text(&row.pad))
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}
