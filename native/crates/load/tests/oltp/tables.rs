//! The tables against those that `sysbench prepare` makes.

use crate::support::mariadb::MariaDb;
use crate::support::now;
use crate::support::postgres::Postgres;
use crate::support::server::output;
use assay_load::oltp::{create, finish, load};
use assay_wire::sql::Session;
use assay_workload::oltp::{Parameters, Plan, Test};
use mysql::prelude::Queryable;

/// More than one statement of rows.
const ROWS: u32 = 700;
const WORDS: [&str; 3] = ["--tables=2", "--table-size=700", "prepare"];

fn plan() -> Plan {
    let parameters =
        Parameters { tables: 2, table_size: ROWS, ..Parameters::defaults(Test::ReadWrite, 3) };
    Plan::new(parameters).unwrap()
}

/// By two sessions at once, from the last table to the first: rows do not depend on who loads them.
fn prepare<S: Session + Send>(session: &mut S, another: &mut S) {
    now(create(session, &plan())).unwrap();
    for table in [2, 1] {
        std::thread::scope(|scope| {
            scope.spawn(|| now(load(another, &plan(), table, 500..ROWS + 1)).unwrap());
            now(load(session, &plan(), table, 1..500)).unwrap();
        });
    }
    now(finish(session, &plan())).unwrap();
}

fn maria_shape(client: &mut mysql::Conn, database: &str) -> Vec<String> {
    let queries = [
        "SELECT table_name, engine, row_format, table_collation, auto_increment, create_options \
         FROM information_schema.tables WHERE table_schema = ? ORDER BY 1",
        "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, \
         character_maximum_length, numeric_precision, numeric_scale, character_set_name, \
         collation_name, column_type, column_key, extra, is_generated \
         FROM information_schema.columns WHERE table_schema = ? ORDER BY 1, 3",
        "SELECT table_name, index_name, non_unique, seq_in_index, column_name, collation, \
         sub_part, nullable, index_type \
         FROM information_schema.statistics WHERE table_schema = ? ORDER BY 1, 2, 4",
    ];
    let rows = queries.into_iter().flat_map(|query| {
        let rows: Vec<mysql::Row> = client.exec(query, (database,)).unwrap();
        rows.into_iter().map(|row| format!("{:?}", row.unwrap()))
    });
    rows.collect()
}

#[test]
fn mariadb_describes_our_tables_as_those_of_sysbench() {
    let server = MariaDb::shared();
    server.create("theirs");
    server.create("ours");
    output(server.sysbench("theirs", "oltp_read_write").args(WORDS));
    prepare(&mut server.session("ours"), &mut server.session("ours"));
    let mut client = server.connect("information_schema");
    let ours = maria_shape(&mut client, "ours");
    assert_eq!(ours.len(), 2 + 8 + 4, "tables, columns, indexed columns");
    assert_eq!(ours, maria_shape(&mut client, "theirs"));

    let rows: Vec<(u32, u32, String, String)> =
        client.query("SELECT id, k, c, pad FROM ours.sbtest2 ORDER BY id").unwrap();
    let c_bytes = "SELECT MIN(LENGTH(c)), MAX(LENGTH(c)), MIN(LENGTH(pad)), MAX(LENGTH(pad)) FROM ";
    let bytes = ["ours.sbtest2", "theirs.sbtest2"].map(|table| {
        let bytes: (u32, u32, u32, u32) =
            client.query_first(format!("{c_bytes}{table}")).unwrap().unwrap();
        bytes
    });
    assert_eq!(bytes[0], bytes[1]);
    assert_rows(rows);
}

fn postgres_shape(client: &mut postgres::Client) -> Vec<String> {
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
    let rows = queries.into_iter().flat_map(|query| {
        let rows = client.query(query, &[]).unwrap();
        rows.into_iter().map(|row| row.get::<_, String>(0))
    });
    rows.collect()
}

#[test]
fn postgres_describes_our_tables_as_those_of_sysbench() {
    let server = Postgres::shared();
    server.create("theirs");
    server.create("ours");
    output(server.sysbench("theirs", "oltp_read_write").args(WORDS));
    prepare(&mut server.session("ours"), &mut server.session("ours"));
    let mut client = server.connect("ours");
    let ours = postgres_shape(&mut client);
    assert_eq!(ours.len(), 8 + 4 + 2 + 2, "columns, indexes, sequences, constraints");
    assert_eq!(ours, postgres_shape(&mut server.connect("theirs")));

    let rows = client.query("SELECT id, k, c, pad FROM sbtest2 ORDER BY id", &[]).unwrap();
    let row = |row: &postgres::Row| {
        let text = |column| row.get::<_, String>(column).trim_end().to_owned();
        (row.get::<_, i32>(0) as u32, row.get::<_, i32>(1) as u32, text(2), text(3))
    };
    assert_rows(rows.iter().map(row).collect());
}

fn assert_rows(rows: Vec<(u32, u32, String, String)>) {
    let expected = (1..=ROWS).map(|id| {
        let row = plan().row(2, id);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (id, row.k, text(&row.c), text(&row.pad))
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}
