//! What a session with a real server bears: large rows, large results, and the server's death.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::RuntimeError;
use assay_wire::WireError;
use assay_wire::mysql::{Row, Session};
use assay_wire::sql::{Row as _, Session as _, Type, Value};

use crate::allocations;
use crate::mariadb_server::MariadbServer;
use crate::mysql_lab::{ALL_FEATURES, ignore, lab, server, wait_ms};
use crate::worker::run;

#[test]
fn a_large_request_in_a_pipeline_waits_for_the_answers_before_it() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        let select = session.prepare("SELECT REPEAT('x', ?)", &[Type::Int]).await.unwrap();
        let length = session.prepare("SELECT LENGTH(?)", &[Type::Text]).await.unwrap();
        let text = vec![b'x'; 12_000_000];
        let (answers, request) = ([Value::Int(1_000_000)], [Value::Text(&text)]);
        // Twenty answers are more than the kernel holds, and so is the request after them.
        let mut requests = vec![(select, &answers[..]); 20];
        requests.extend([(length, &request[..]), (length, &request[..])]);
        let (mut bytes, mut lengths) = (0, Vec::new());
        let visit = |number, row: &Row<'_>| {
            if number < 20 {
                bytes += row.text(0)?.map_or(0, <[u8]>::len);
            } else {
                lengths.push(row.int(0)?);
            }
            Ok(())
        };
        session.pipeline(requests, visit, |_, end| assert!(end.is_ok())).await.unwrap();
        assert_eq!((bytes, lengths), (20_000_000, vec![Some(12_000_000); 2]));
    });
}

#[test]
fn rows_and_parameters_may_be_larger_than_a_packet() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        session.batch("CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)").await.unwrap();
        let types = [Type::Int, Type::Text];
        let insert = session.prepare("INSERT INTO large VALUES (?, ?)", &types).await.unwrap();
        let select =
            session.prepare("SELECT id, b FROM large WHERE id = ?", &[Type::Int]).await.unwrap();
        // A row has ten bytes beside the blob, a request 24 once its types are told: both meet the
        // largest part exactly, and are a byte short of it.
        let part = (1 << 24) - 1;
        let lengths = [10, 11, 24, 25].map(|less| part - less);
        for length in [1 << 20, 20_000_000].into_iter().chain(lengths) {
            let blob: Vec<u8> = (0..length).map(|place| (place % 253) as u8).collect();
            session.run(insert, &[Value::Int(1), Value::Text(&blob)], ignore).await.unwrap();
            let mut is_same = false;
            let visit = |row: &Row<'_>| {
                is_same = row.text(1)? == Some(&blob[..]);
                Ok(())
            };
            session.run(select, &[Value::Int(1)], visit).await.unwrap();
            assert!(is_same, "{length} bytes come back changed");
            session.batch("TRUNCATE large").await.unwrap();
        }
        let batch = format!("SELECT 1 /* {} */; SELECT 2", "x".repeat(part - 30));
        assert_eq!(session.batch(&batch).await.unwrap().rows, 2);
        drop(session);

        // More than the server takes (64 MiB): it says so, or hangs up while we send.
        let mut session = lab(&handle).await;
        let error = session.batch(&"x".repeat(70 << 20)).await.unwrap_err();
        match error {
            WireError::Server { code, .. } => assert_eq!(code, "1153"),
            error => assert!(matches!(error, WireError::Runtime(_)), "{error}"),
        }
    });
}

#[test]
fn a_large_result_costs_no_more_memory_than_its_rows() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        let sql = "SELECT seq, REPEAT('x', 1000) FROM seq_1_to_100000";
        let statement = session.prepare(sql, &[]).await.unwrap();
        let (mut sum, mut bytes) = (0, 0);
        allocations::take_largest_bytes();
        let visit = |row: &Row<'_>| {
            sum += row.int(0)?.unwrap_or(0);
            bytes += row.text(1)?.map_or(0, <[u8]>::len);
            Ok(())
        };
        assert_eq!(session.run(statement, &[], visit).await.unwrap().rows, 100_000);
        assert_eq!((sum, bytes), (5_000_050_000, 100_000_000));
        let most = allocations::take_largest_bytes();
        // What lay in the socket when the kernel was asked, at most: of 100 MB.
        assert!(most <= 2 * 1024 * 1024, "{most} bytes in one piece");
    });
}

#[test]
fn a_warm_request_allocates_nothing() {
    run(|handle| async move {
        for features in ALL_FEATURES {
            let mut session =
                Session::open_with(&handle, &server().root("lab"), features).await.unwrap();
            let sql =
                "SELECT seq, REPEAT('y', 100), SUM(seq) OVER () FROM seq_1_to_100 WHERE seq = ?";
            let statement = session.prepare(sql, &[Type::Int]).await.unwrap();
            let (mut found, mut before) = (0, 0);
            for turn in 0..200 {
                if turn == 100 {
                    before = allocations::times();
                }
                let visit = |row: &Row<'_>| {
                    found += row.int(0)?.unwrap_or(0) + row.int(2)?.unwrap_or(0);
                    row.text(1).map(|_| ())
                };
                session.run(statement, &[Value::Int(turn % 100 + 1)], visit).await.unwrap();
            }
            assert_eq!(allocations::times(), before, "{features:?}");
            assert_eq!(found, 4 * 5050);
        }
    });
}

#[test]
fn a_request_that_was_given_up_leaves_a_session_that_says_so() {
    run(|handle| async move {
        let mut session = lab(&handle).await;
        let sleep = session.prepare("SELECT SLEEP(50)", &[]).await.unwrap();
        let clock = handle.clock();
        let soon = clock.ticks() + clock.ticks_of_ns(20_000_000);
        let given_up = session.run(sleep, &[], ignore);
        assert!(assay_runtime::deadline(&handle, soon, given_up).await.is_err());
        let refused = session.run(sleep, &[], ignore).await.unwrap_err().to_string();
        assert!(refused.contains("not read to its end"), "{refused}");
        session.close().await;
    });
}

#[test]
fn a_server_that_dies_ends_the_session_and_another_begins_when_it_is_back() {
    let server = Rc::new(RefCell::new(MariadbServer::start(&[])));
    run(|handle| async move {
        let root = server.borrow().root("mysql");
        let mut waiting = Session::open(&handle, &root).await.unwrap();
        let mut idle = Session::open(&handle, &root).await.unwrap();
        let end = Rc::new(RefCell::new(None));
        let told = Rc::clone(&end);
        handle.spawn(async move {
            let sleep = waiting.prepare("SELECT SLEEP(50)", &[]).await.unwrap();
            let died = waiting.run(sleep, &[], ignore).await;
            let again = waiting.ping().await;
            *told.borrow_mut() = Some((died, again));
        });
        // Killed while the request is under way, as the server itself says.
        let asleep =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
        let asleep = idle.prepare(asleep, &[]).await.unwrap();
        let mut count = Some(0);
        while count != Some(1) {
            wait_ms(&handle, 5).await;
            let counted = idle.run(asleep, &[], |row| {
                count = row.int(0)?;
                Ok(())
            });
            counted.await.unwrap();
        }
        server.borrow_mut().kill();
        while end.borrow().is_none() {
            wait_ms(&handle, 5).await;
        }
        let (died, again) = end.take().unwrap();
        assert!(matches!(died, Err(WireError::Runtime(RuntimeError::Closed))), "{died:?}");
        assert!(matches!(again, Err(WireError::Runtime(RuntimeError::Closed))), "{again:?}");
        server.borrow_mut().start_again();
        let closed = idle.ping().await;
        assert!(matches!(closed, Err(WireError::Runtime(RuntimeError::Closed))), "{closed:?}");
        Session::open(&handle, &root).await.unwrap().ping().await.unwrap();
    });
}
