//! Sessions with a real server: MariaDB, of the Debian package `mariadb-server-core`.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::RuntimeError;
use assay_wire::mysql::{Row, Session};
use assay_wire::sql::{Completion, Row as _, Session as _, Type, Value};
use assay_wire::{ServerErrorKind, Target, WireError};

use crate::mysql_lab::{ALL_FEATURES, code, ignore, kind, lab, server, wait_ms};
use crate::worker::run;

/// The only value of a query without parameters.
async fn number(session: &mut Session, text: &str) -> Option<i64> {
    let statement = session.prepare(text, &[]).await.unwrap();
    let mut found = None;
    session
        .run(statement, &[], |row| {
            found = row.int(0)?;
            Ok(())
        })
        .await
        .unwrap();
    session.forget(statement).await.unwrap();
    found
}

fn native(database: &str) -> Target {
    Target {
        address: server().port(),
        user: "native".to_owned(),
        password: Some("se cret".to_owned()),
        database: database.to_owned(),
        tls: None,
    }
}

#[test]
fn every_result_of_a_procedure_is_visited_with_columns_of_its_own() {
    run(|handle| async move {
        for features in ALL_FEATURES {
            let mut session =
                Session::open_with(&handle, &server().root("lab"), features).await.unwrap();
            let made = "CREATE OR REPLACE PROCEDURE twice(IN n INT) BEGIN \
                        SELECT n; SELECT 'a', n + 1 UNION SELECT 'b', n + 2; END";
            session.batch(made).await.unwrap();
            let call = session.prepare("CALL twice(?)", &[Type::Int]).await.unwrap();
            for turn in 0..3 {
                let mut seen = Vec::new();
                let visit = |row: &Row<'_>| {
                    seen.push(row.int(row.columns() - 1)?.unwrap());
                    Ok(())
                };
                let done = session.run(call, &[Value::Int(turn)], visit).await.unwrap();
                assert_eq!(seen, [turn, turn + 1, turn + 2], "{features:?}");
                assert_eq!(done.rows, 3);
            }
        }
    });
}

#[test]
fn users_log_in_by_password_or_without_one_over_both_kinds_of_socket() {
    run(|handle| async move {
        for address in [server().port(), server().socket()] {
            let target = Target { address: address.clone(), ..native("lab") };
            let mut session = Session::open(&handle, &target).await.unwrap();
            assert!(session.version().contains("MariaDB"), "{}", session.version());
            let number = number(&mut session, "SELECT CONNECTION_ID()").await;
            assert_eq!(number, Some(i64::from(session.number())));
            session.close().await;
            for password in [None, Some(String::new())] {
                let user = "nobody".to_owned();
                let target = Target { address: address.clone(), user, password, ..native("") };
                Session::open(&handle, &target).await.unwrap().ping().await.unwrap();
            }
        }
    });
}

#[test]
fn whoever_may_not_log_in_is_told_why() {
    run(|handle| async move {
        let wrong = Target { password: Some("secret".to_owned()), ..native("lab") };
        let error = Session::open(&handle, &wrong).await.err().unwrap();
        assert!(matches!(error, WireError::Login { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("\"native\"") && said.contains("Access denied"), "{said}");

        let error = Session::open(&handle, &native("mysql")).await.err().unwrap();
        assert!(error.to_string().contains("to database 'mysql'"), "{error}");

        let error = Session::open(&handle, &server().root("nowhere")).await.err().unwrap();
        assert!(error.to_string().contains("Unknown database 'nowhere'"), "{error}");
        assert_eq!(code(error), "1049");

        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let nobody = Target { address: assay_runtime::Address::Tcp(free), ..native("lab") };
        let error = Session::open(&handle, &nobody).await.err().unwrap();
        assert!(matches!(error, WireError::Runtime(RuntimeError::Connect { .. })), "{error}");
    });
}

#[test]
fn rows_are_changed_and_read_back_whatever_features_are_in_use() {
    run(|handle| async move {
        for (place, features) in ALL_FEATURES.into_iter().enumerate() {
            let mut session =
                Session::open_with(&handle, &server().root("lab"), features).await.unwrap();
            assert_eq!(session.features(), features, "the server offers both");
            let made = format!("CREATE TABLE crud{place} (id INT PRIMARY KEY, n BIGINT, t TEXT)");
            session.batch(&made).await.unwrap();
            let sql = format!("INSERT INTO crud{place} VALUES (?, ?, ?)");
            let insert = session.prepare(&sql, &[Type::Int, Type::Int, Type::Text]).await.unwrap();
            for id in 0..20_i64 {
                let n = if id == 7 { Value::Null } else { Value::Int(id * 1_000_000_007) };
                let t =
                    if id == 8 { Value::Null } else { Value::Text(b"it's ?\0\xF0\x9F\x98\x80") };
                let done = session.run(insert, &[Value::Int(id), n, t], ignore).await.unwrap();
                assert_eq!(done, Completion { rows: 0, affected: 1 });
            }
            let sql = format!("SELECT t, id, n FROM crud{place} WHERE id >= ? ORDER BY id");
            let select = session.prepare(&sql, &[Type::Int]).await.unwrap();
            for _ in 0..3 {
                let mut rows = Vec::new();
                let visit = |row: &Row<'_>| {
                    assert_eq!(row.columns(), 3);
                    rows.push((row.int(1)?, row.int(2)?, row.text(0)?.map(<[u8]>::to_vec)));
                    Ok(())
                };
                let done = session.run(select, &[Value::Int(7)], visit).await.unwrap();
                assert_eq!(done, Completion { rows: 13, affected: 0 });
                let text = Some(b"it's ?\0\xF0\x9F\x98\x80".to_vec());
                assert_eq!(rows[0], (Some(7), None, text.clone()));
                assert_eq!(rows[1], (Some(8), Some(8_000_000_056), None));
                assert_eq!(rows[12], (Some(19), Some(19_000_000_133), text));
            }
            // FOUND_ROWS: rows that matched count although nothing changes in them.
            let sql = format!("UPDATE crud{place} SET n = ? WHERE id < ?");
            let update = session.prepare(&sql, &[Type::Int; 2]).await.unwrap();
            for _ in 0..2 {
                let done = session.run(update, &[Value::Int(1), Value::Int(5)], ignore).await;
                assert_eq!(done.unwrap().affected, 5);
            }
            let sum = format!("SELECT SUM(n) FROM crud{place} WHERE id < 5");
            assert_eq!(number(&mut session, &sum).await, Some(5));
            assert_eq!(number(&mut session, "SELECT SUM(n) FROM crud0 WHERE id < 0").await, None);
        }
    });
}

#[test]
fn every_type_is_read_or_passed_over() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        let sql = "SELECT CAST(-1 AS INT), DATE '2026-01-02', TIME '-30:00:01.5', NOW(6), 1.5e0, \
            CAST(1.5 AS FLOAT), TRUE, 18446744073709551615, 12.50, 12.00, NULL, 'x', b'101', \
            JSON_OBJECT('a', 1), YEAR(NOW()), ST_GeomFromText('POINT(1 2)'), -7";
        let statement = session.prepare(sql, &[]).await.unwrap();
        let visit = |row: &Row<'_>| {
            assert_eq!(row.int(16)?, Some(-7), "behind all others");
            assert_eq!((row.int(0)?, row.int(6)?, row.int(9)?), (Some(-1), Some(1), Some(12)));
            assert_eq!((row.int(10)?, row.text(10)?), (None, None));
            assert_eq!((row.text(8)?, row.text(11)?), (Some(&b"12.50"[..]), Some(&b"x"[..])));
            assert_eq!(row.text(13)?, Some(&b"{\"a\": 1}"[..]));
            assert!(row.int(7).is_err() && row.int(8).is_err() && row.int(1).is_err());
            assert!(row.text(1).is_err() && row.text(0).is_err());
            Ok(())
        };
        assert_eq!(session.run(statement, &[], visit).await.unwrap().rows, 1);
    });
}

#[test]
fn columns_that_change_under_a_statement_are_read_anew() {
    run(|handle| async move {
        for features in ALL_FEATURES {
            let mut session =
                Session::open_with(&handle, &server().root("lab"), features).await.unwrap();
            session
                .batch("CREATE OR REPLACE TABLE moves (a INT); INSERT INTO moves VALUES (1)")
                .await
                .unwrap();
            let select = session.prepare("SELECT * FROM moves", &[]).await.unwrap();
            let mut seen = Vec::new();
            for change in ["DO 1", "ALTER TABLE moves MODIFY a BIGINT, ADD b INT DEFAULT 5", "DO 1"]
            {
                session.batch(change).await.unwrap();
                let visit = |row: &Row<'_>| {
                    let columns = row.columns();
                    seen.push((columns, row.int(0)?, row.int(columns - 1)?));
                    Ok(())
                };
                session.run(select, &[], visit).await.unwrap();
            }
            let (one, two) = ((1, Some(1), Some(1)), (2, Some(1), Some(5)));
            assert_eq!(seen, [one, two, two], "{features:?}");
        }
    });
}

#[test]
fn an_error_of_the_server_ends_the_request_and_not_the_session() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        session.batch("CREATE TABLE twice (id INT PRIMARY KEY)").await.unwrap();
        let sql = "INSERT INTO twice VALUES (?)";
        let insert = session.prepare(sql, &[Type::Int]).await.unwrap();
        session.run(insert, &[Value::Int(1)], ignore).await.unwrap();
        let error = session.run(insert, &[Value::Int(1)], ignore).await.unwrap_err();
        assert!(error.to_string().contains("Duplicate entry '1'"), "{error}");
        assert_eq!(kind(error), ServerErrorKind::DuplicateKey);
        session.run(insert, &[Value::Int(2)], ignore).await.unwrap();

        assert_eq!(code(session.prepare("SELECT FROM", &[]).await.unwrap_err()), "1064");
        let wrong = session.prepare("SELECT ?", &[]).await.unwrap_err();
        assert!(wrong.to_string().contains("0 types for the 1 parameters"), "{wrong}");
        let wrong = session.run(insert, &[], ignore).await.unwrap_err();
        assert!(wrong.to_string().contains("0 values for 1 parameters"), "{wrong}");
        session.forget(insert).await.unwrap();
        assert_eq!(code(session.run(insert, &[Value::Int(3)], ignore).await.unwrap_err()), "1243");
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM twice").await, Some(2));

        // An error of the visitor: the rest of the rows is passed over.
        let many = session.prepare("SELECT seq FROM seq_1_to_1000", &[]).await.unwrap();
        let mut visits = 0;
        let refuse = |_: &Row<'_>| {
            visits += 1;
            Err(WireError::Login { user: String::new(), why: "enough".to_owned() })
        };
        let error = session.run(many, &[], refuse).await.unwrap_err();
        assert!(error.to_string().contains("enough"), "{error}");
        assert_eq!(visits, 1);
        session.ping().await.unwrap();
    });
}

#[test]
fn a_batch_runs_all_its_statements_up_to_the_first_error() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        session.batch("CREATE TABLE batched (id INT PRIMARY KEY, n INT)").await.unwrap();
        let done = session
            .batch(
                "INSERT INTO batched VALUES (1, 1), (2, 2), (3, 3); SELECT * FROM batched; \
                    UPDATE batched SET n = 0 WHERE id > 1; SELECT 1, 'x';",
            )
            .await
            .unwrap();
        assert_eq!(done, Completion { rows: 4, affected: 5 });
        let text = "INSERT INTO batched VALUES (4, 4); INSERT INTO batched VALUES (1, 1); \
                    INSERT INTO batched VALUES (5, 5)";
        let error = session.batch(text).await.unwrap_err();
        assert_eq!(kind(error), ServerErrorKind::DuplicateKey);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM batched").await, Some(4));
    });
}

#[test]
fn a_pipeline_answers_every_request_in_order() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        session.batch("CREATE TABLE piped (id INT PRIMARY KEY, t TEXT)").await.unwrap();
        let types = [Type::Int, Type::Text];
        let insert = session.prepare("INSERT INTO piped VALUES (?, ?)", &types).await.unwrap();
        let select =
            session.prepare("SELECT t FROM piped WHERE id = ?", &[Type::Int]).await.unwrap();
        // More than one burst, with an error in each, and answers larger than any buffer's share.
        let text = vec![b'x'; 3000];
        let values: Vec<[Value<'_>; 2]> =
            (0..40).map(|n| [Value::Int(n - n % 2), Value::Text(&text)]).collect();
        let requests = values.iter().flat_map(|v| [(insert, &v[..]), (select, &v[..1])]);
        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        let visit = |number, row: &Row<'_>| {
            rows.push((number, row.text(0)?.map(<[u8]>::len)));
            Ok(())
        };
        let ended = |number, end: Result<Completion, WireError>| {
            assert_eq!(number, ends.len());
            ends.push(end.map_err(kind));
        };
        session.pipeline(requests, visit, ended).await.unwrap();
        assert_eq!(rows, (0..40).map(|n| (2 * n + 1, Some(3000))).collect::<Vec<_>>());
        assert_eq!(ends.len(), 80);
        for (place, end) in ends.iter().enumerate() {
            match place % 4 {
                0 => assert_eq!(*end, Ok(Completion { rows: 0, affected: 1 })),
                2 => assert_eq!(*end, Err(ServerErrorKind::DuplicateKey)),
                _ => assert_eq!(*end, Ok(Completion { rows: 1, affected: 0 })),
            }
        }
        // One that cannot be written keeps those before it from being sent: their first time, in
        // which the server is told the types, is still to come.
        let sql = "SELECT t FROM piped WHERE id = ? + 0";
        let fresh = session.prepare(sql, &[Type::Int]).await.unwrap();
        let one = [Value::Int(0)];
        let requests = [(fresh, &one[..]), (insert, &one[..])];
        let bad = session.pipeline(requests, |_, _| Ok(()), |_, _| panic!("nothing was sent"));
        assert!(bad.await.unwrap_err().to_string().contains("1 values for 2 parameters"));
        assert_eq!(session.run(fresh, &one, ignore).await.unwrap().rows, 1);
    });
}

#[test]
fn a_deadlock_a_conflict_and_a_lock_wait_are_told_apart() {
    run(|handle| async move {
        let (mut one, mut two) = (lab(&handle).await, lab(&handle).await);
        let made = "CREATE TABLE locks (id INT PRIMARY KEY, n INT) ENGINE=InnoDB; \
                    INSERT INTO locks VALUES (1, 0), (2, 0)";
        one.batch(made).await.unwrap();
        one.batch("BEGIN; UPDATE locks SET n = 1 WHERE id = 1").await.unwrap();
        two.batch("SET innodb_lock_wait_timeout = 0").await.unwrap();
        let error = two.batch("UPDATE locks SET n = 2 WHERE id = 1").await.unwrap_err();
        assert_eq!(kind(error), ServerErrorKind::LockTimeout);

        two.batch("SET innodb_lock_wait_timeout = 20; BEGIN; UPDATE locks SET n = 2 WHERE id = 2")
            .await
            .unwrap();
        let ends = Rc::new(RefCell::new(Vec::new()));
        let waiting = Rc::clone(&ends);
        handle.spawn(async move {
            let end = one.batch("UPDATE locks SET n = 1 WHERE id = 2").await;
            waiting.borrow_mut().push(end);
            one.batch("ROLLBACK").await.unwrap();
        });
        wait_ms(&handle, 50).await;
        let end = two.batch("UPDATE locks SET n = 2 WHERE id = 1").await;
        ends.borrow_mut().push(end);
        two.batch("ROLLBACK").await.unwrap();
        while ends.borrow().len() < 2 {
            wait_ms(&handle, 5).await;
        }
        let lost: Vec<_> = ends.take().into_iter().filter_map(Result::err).map(kind).collect();
        assert_eq!(lost, [ServerErrorKind::Deadlock], "one of both");

        let mut one = lab(&handle).await;
        one.batch("SET innodb_snapshot_isolation = ON; START TRANSACTION WITH CONSISTENT SNAPSHOT")
            .await
            .unwrap();
        two.batch("UPDATE locks SET n = 3 WHERE id = 1").await.unwrap();
        let error = one.batch("UPDATE locks SET n = n + 1 WHERE id = 1").await.unwrap_err();
        assert_eq!(kind(error), ServerErrorKind::Conflict);
    });
}
