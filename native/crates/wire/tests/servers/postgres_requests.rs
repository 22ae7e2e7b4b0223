//! Requests to a real PostgreSQL server. Needs Debian's package `postgresql`.

use std::cell::Cell;
use std::rc::Rc;

use assay_runtime::Handle;
use assay_wire::postgres::{Session, TransactionState};
use assay_wire::sql::{Completion, Row as _, Session as _, Statement, Type, Value};
use assay_wire::{ServerErrorKind, WireError};

use crate::postgres_server::Server;
use crate::worker::{run, until};

async fn open(handle: &Handle) -> Session {
    Session::open(handle, &Server::shared().unix_target()).await.unwrap()
}

/// The integers of an answer, rows after one another.
async fn ints(session: &mut Session, text: &str) -> Vec<Option<i64>> {
    let statement = session.prepare(text, &[]).await.unwrap();
    let mut found = Vec::new();
    let visit = |row: &assay_wire::postgres::Row<'_>| {
        for column in 0..row.columns() {
            found.push(row.int(column)?);
        }
        Ok(())
    };
    session.run(statement, &[], visit).await.unwrap();
    found
}

fn server_error(error: WireError) -> (String, ServerErrorKind) {
    match error {
        WireError::Server { code, kind, .. } => (code, kind),
        other => panic!("{other}"),
    }
}

fn changed(affected: u64) -> Completion {
    Completion { rows: 0, affected }
}

#[test]
fn rows_are_inserted_read_changed_and_removed_by_prepared_statements() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session
            .batch("CREATE TABLE pets (id int PRIMARY KEY, name text, kind char(4), age smallint)")
            .await
            .unwrap();
        let types = [Type::Int, Type::Text, Type::Text, Type::Int];
        let insert = session.prepare("INSERT INTO pets VALUES (?, ?, ?, ?)", &types).await.unwrap();
        let rex = [Value::Int(1), Value::Text(b"Rex?"), Value::Text(b"dog"), Value::Int(-3)];
        assert_eq!(session.run(insert, &rex, |_| Ok(())).await.unwrap(), changed(1));
        let nobody = [Value::Int(2), Value::Null, Value::Text(b""), Value::Null];
        assert_eq!(session.run(insert, &nobody, |_| Ok(())).await.unwrap(), changed(1));

        let text = "SELECT id, name, kind, age FROM pets WHERE id >= ? AND '?' <> ? ORDER BY id";
        let select = session.prepare(text, &[Type::Int, Type::Text]).await.unwrap();
        let mut seen = Vec::new();
        let values = [Value::Int(1), Value::Text(b"x")];
        let done = session.run(select, &values, |row| {
            let name = row.text(1)?.map(<[u8]>::to_vec);
            let kind = row.text(2)?.map(<[u8]>::to_vec);
            seen.push((row.int(0)?, name, kind, row.int(3)?));
            Ok(())
        });
        assert_eq!(done.await.unwrap(), Completion { rows: 2, affected: 0 });
        let spaces = Some(b"    ".to_vec());
        assert_eq!(seen[0], (Some(1), Some(b"Rex?".to_vec()), Some(b"dog ".to_vec()), Some(-3)));
        assert_eq!(seen[1], (Some(2), None, spaces, None));

        let text = "UPDATE pets SET age = age + ? WHERE id < ?";
        let update = session.prepare(text, &[Type::Int, Type::Int]).await.unwrap();
        let values = [Value::Int(1), Value::Int(9)];
        assert_eq!(session.run(update, &values, |_| Ok(())).await.unwrap(), changed(2));
        let done = session.batch("DELETE FROM pets; SELECT 1; DELETE FROM pets").await.unwrap();
        assert_eq!(done, Completion { rows: 1, affected: 2 });
        session.close().await;
    });
}

#[test]
fn an_integer_parameter_uses_the_index_of_an_integer_column() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "CREATE TABLE indexed AS SELECT g::int AS id FROM generate_series(1, 20000) g;
                    CREATE INDEX ON indexed (id); ANALYZE indexed; SET plan_cache_mode = \
                    force_generic_plan";
        session.batch(text).await.unwrap();
        session.batch("PREPARE p (bigint) AS SELECT id FROM indexed WHERE id = $1").await.unwrap();
        let plan = session.prepare("EXPLAIN EXECUTE p(7)", &[]).await.unwrap();
        let mut plans = Vec::new();
        let visit = |row: &assay_wire::postgres::Row<'_>| {
            plans.extend_from_slice(row.text(0)?.unwrap());
            Ok(())
        };
        session.run(plan, &[], visit).await.unwrap();
        let plan = String::from_utf8(plans).unwrap();
        assert!(plan.contains("Index"), "{plan}");
    });
}

#[test]
fn integers_decimals_and_truths_are_integers_and_other_types_are_texts() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "SELECT 1::int2, -2::int4, 3::int8, 12345678901234::numeric, -120000::numeric,
                    0::numeric, true, NULL::int, sum(g), sum(g::int8), count(*)
                    FROM generate_series(1, 100) g";
        let expected: Vec<_> =
            [1, -2, 3, 12_345_678_901_234, -120_000, 0, 1].into_iter().map(Some).collect();
        let found = ints(&mut session, text).await;
        assert_eq!(found[..7], expected);
        assert_eq!(found[7..], [None, Some(5050), Some(5050), Some(100)]);

        let text = "SELECT 'x'::varchar, '\\x00ff'::bytea, date '2026-01-02', 1.5::float8, \
                    '{\"a\": 1}'::jsonb, 1.5::numeric, 'z'::\"char\", 'n'::name";
        let statement = session.prepare(text, &[]).await.unwrap();
        let visit = |row: &assay_wire::postgres::Row<'_>| {
            assert_eq!(row.text(0)?, Some(&b"x"[..]));
            assert_eq!(row.text(1)?, Some(&b"\0\xff"[..]));
            assert_eq!(row.text(2)?, Some(&b"2026-01-02"[..]));
            assert_eq!(row.text(3)?, Some(&b"1.5"[..]));
            assert_eq!(row.text(4)?, Some(&b"{\"a\": 1}"[..]));
            assert!(row.int(0).is_err() && row.int(5).is_err() && row.text(5).is_err());
            assert_eq!((row.text(6)?, row.text(7)?), (Some(&b"z"[..]), Some(&b"n"[..])));
            Ok(())
        };
        assert_eq!(session.run(statement, &[], visit).await.unwrap().rows, 1);
    });
}

#[test]
fn a_row_of_a_megabyte_goes_there_and_back() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let statement = session.prepare("SELECT ? || '!'", &[Type::Text]).await.unwrap();
        let text: Vec<u8> = (0..1_000_000_u32).map(|place| b'a' + (place % 26) as u8).collect();
        for _ in 0..2 {
            let visit = |row: &assay_wire::postgres::Row<'_>| {
                let back = row.text(0)?.unwrap();
                assert!(back.len() == 1_000_001 && back.starts_with(&text));
                Ok(())
            };
            let done = session.run(statement, &[Value::Text(&text)], visit).await.unwrap();
            assert_eq!(done.rows, 1);
        }
    });
}

#[test]
fn a_key_that_exists_is_told_and_the_session_goes_on() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE keys (id bigint PRIMARY KEY)").await.unwrap();
        let insert = session.prepare("INSERT INTO keys VALUES (?)", &[Type::Int]).await.unwrap();
        session.run(insert, &[Value::Int(7)], |_| Ok(())).await.unwrap();
        for _ in 0..3 {
            let error = session.run(insert, &[Value::Int(7)], |_| Ok(())).await.unwrap_err();
            assert!(error.to_string().contains("keys_pkey"), "{error}");
            assert!(error.to_string().contains("(id)=(7)"), "the detail: {error}");
            assert_eq!(server_error(error), ("23505".into(), ServerErrorKind::DuplicateKey));
            assert_eq!(session.transaction_state(), TransactionState::Idle);
        }
        assert_eq!(ints(&mut session, "SELECT count(*) FROM keys").await, [Some(1)]);
    });
}

#[test]
fn an_error_fails_the_transaction_until_it_is_rolled_back() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        session.batch("BEGIN").await.unwrap();
        assert_eq!(session.transaction_state(), TransactionState::InTransaction);
        let error = session.prepare("SELECT nothing FROM nowhere", &[]).await.unwrap_err();
        assert_eq!(server_error(error).0, "42P01");
        assert_eq!(session.transaction_state(), TransactionState::Failed);
        let error = session.batch("SELECT 1").await.unwrap_err();
        assert_eq!(server_error(error).0, "25P02");
        session.batch("ROLLBACK").await.unwrap();
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        assert_eq!(ints(&mut session, "SELECT 1").await, [Some(1)]);
    });
}

#[test]
fn an_error_in_the_middle_of_rows_comes_after_the_rows_before_it() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "SELECT 10 / (500 - g), repeat('x', 100) FROM generate_series(1, 1000) g";
        let statement = session.prepare(text, &[]).await.unwrap();
        let mut rows = 0;
        let visit = |_: &assay_wire::postgres::Row<'_>| {
            rows += 1;
            Ok(())
        };
        let error = session.run(statement, &[], visit).await.unwrap_err();
        assert_eq!((server_error(error).0.as_str(), rows), ("22012", 499));
        assert_eq!(ints(&mut session, "SELECT 5").await, [Some(5)]);
    });
}

#[test]
fn an_error_of_the_visitor_is_returned_and_the_session_goes_on() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "SELECT g FROM generate_series(1, 100000) g";
        let statement = session.prepare(text, &[]).await.unwrap();
        let mut visits = 0;
        let visit = |row: &assay_wire::postgres::Row<'_>| {
            visits += 1;
            row.int(1).map(|_| ())
        };
        let error = session.run(statement, &[], visit).await.unwrap_err();
        assert!(error.to_string().contains("1 columns, and 1 is asked for"), "{error}");
        assert_eq!(visits, 1);
        assert_eq!(ints(&mut session, "SELECT 5").await, [Some(5)]);
    });
}

/// Two sessions lock two rows in opposite order.
#[test]
fn a_deadlock_is_told_to_one_of_the_two_sessions() {
    run(|handle| async move {
        let mut setup = open(&handle).await;
        let text = "CREATE TABLE locked (id int PRIMARY KEY, n int); INSERT INTO locked VALUES \
                    (1, 0), (2, 0)";
        setup.batch(text).await.unwrap();
        let (locked, ended) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let deadlocks = Rc::new(Cell::new(0));
        for (first, second) in [(1, 2), (2, 1)] {
            let (locked, ended) = (Rc::clone(&locked), Rc::clone(&ended));
            let (handle, deadlocks) = (handle.clone(), Rc::clone(&deadlocks));
            handle.clone().spawn(async move {
                let mut session = open(&handle).await;
                let text = "UPDATE locked SET n = n + 1 WHERE id = ?";
                let update = session.prepare(text, &[Type::Int]).await.unwrap();
                session.batch("BEGIN").await.unwrap();
                session.run(update, &[Value::Int(first)], |_| Ok(())).await.unwrap();
                locked.set(locked.get() + 1);
                until(&handle, || locked.get() == 2).await;
                if let Err(error) = session.run(update, &[Value::Int(second)], |_| Ok(())).await {
                    let (code, kind) = server_error(error);
                    assert_eq!((code.as_str(), kind), ("40P01", ServerErrorKind::Deadlock));
                    deadlocks.set(deadlocks.get() + 1);
                }
                session.batch("COMMIT").await.unwrap();
                ended.set(ended.get() + 1);
            });
        }
        until(&handle, || ended.get() == 2).await;
        assert_eq!(deadlocks.get(), 1);
        assert_eq!(ints(&mut setup, "SELECT sum(n) FROM locked").await, [Some(2)]);
    });
}

#[test]
fn a_changed_row_is_a_conflict_and_a_lock_not_had_in_time_is_told() {
    run(|handle| async move {
        let (mut one, mut two) = (open(&handle).await, open(&handle).await);
        one.batch("CREATE TABLE rivals (n int); INSERT INTO rivals VALUES (0)").await.unwrap();
        one.batch("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM rivals").await.unwrap();
        two.batch("UPDATE rivals SET n = 1").await.unwrap();
        let error = one.batch("UPDATE rivals SET n = 2").await.unwrap_err();
        assert_eq!(server_error(error), ("40001".into(), ServerErrorKind::Conflict));
        one.batch("ROLLBACK; BEGIN; UPDATE rivals SET n = 3").await.unwrap();
        let error = two.batch("SELECT * FROM rivals FOR UPDATE NOWAIT").await.unwrap_err();
        assert_eq!(server_error(error), ("55P03".into(), ServerErrorKind::LockTimeout));
    });
}

#[test]
fn what_does_not_fit_a_statement_is_refused_before_it_is_sent() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let statement = session.prepare("SELECT ? + 1", &[Type::Int]).await.unwrap();
        let sent = session.traffic().sent;
        for values in [&[][..], &[Value::Int(1), Value::Int(2)], &[Value::Text(b"1")]] {
            let error = session.run(statement, values, |_| Ok(())).await.unwrap_err();
            assert!(matches!(error, WireError::Protocol { .. }), "{error}");
        }
        let error = session.run(Statement(9), &[], |_| Ok(())).await.unwrap_err();
        assert!(error.to_string().contains("statement 9 was not prepared"), "{error}");
        let error = session.prepare("SELECT ?, ?", &[Type::Int]).await.unwrap_err();
        assert!(error.to_string().contains("2 placeholders and 1 types"), "{error}");
        assert!(session.batch("SELECT '\0'").await.is_err());
        assert_eq!(session.traffic().sent, sent);
        session.run(statement, &[Value::Int(1)], |_| Ok(())).await.unwrap();
    });
}
