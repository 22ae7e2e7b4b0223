//! COPY and pipelines with a real PostgreSQL server. Needs Debian's package `postgresql`.

use assay_runtime::Handle;
use assay_wire::WireError;
use assay_wire::postgres::{Session, TransactionState};
use assay_wire::sql::{Completion, Row as _, Session as _, Statement, Type, Value};

use crate::postgres_server::Server;
use crate::worker::run;

async fn open(handle: &Handle) -> Session {
    Session::open(handle, &Server::shared().target()).await.unwrap()
}

async fn int(session: &mut Session, text: &str) -> i64 {
    let statement = session.prepare(text, &[]).await.unwrap();
    let mut found = None;
    let visit = |row: &assay_wire::postgres::Row<'_>| {
        found = row.int(0)?;
        Ok(())
    };
    session.run(statement, &[], visit).await.unwrap();
    found.unwrap()
}

fn code(error: WireError) -> String {
    match error {
        WireError::Server { code, .. } => code,
        other => panic!("{other}"),
    }
}

/// Rows `1..=rows` with their square, in chunks of one row, of which every third is split.
fn squares(rows: i64) -> impl FnMut(&mut Vec<u8>) -> bool {
    let (mut row, mut rest) = (0, Vec::new());
    move |chunk| {
        assert!(chunk.is_empty());
        if !rest.is_empty() {
            chunk.append(&mut rest);
            return row < rows;
        }
        row += 1;
        let line = format!("{row}\t{}\n", row * row);
        let split = if row % 3 == 0 { 2 } else { line.len() };
        chunk.extend_from_slice(&line.as_bytes()[..split]);
        rest.extend_from_slice(&line.as_bytes()[split..]);
        row < rows || !rest.is_empty()
    }
}

#[test]
fn ten_thousand_rows_are_copied_in() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE squares (n int PRIMARY KEY, square bigint)").await.unwrap();
        let copied = session.copy_in("COPY squares FROM STDIN", squares(10_000)).await.unwrap();
        assert_eq!(copied, 10_000);
        let wrong = "SELECT count(*) FROM squares WHERE square <> n::bigint * n";
        assert_eq!(int(&mut session, wrong).await, 0);
        assert_eq!(int(&mut session, "SELECT sum(n) FROM squares").await, 50_005_000);
        let none = session.copy_in("COPY squares FROM STDIN", |_| false).await.unwrap();
        assert_eq!(none, 0);
    });
}

#[test]
fn a_row_that_copy_refuses_keeps_none_and_ends_the_copying_early() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE refused (n int PRIMARY KEY)").await.unwrap();
        let mut chunks = 0;
        let copied = session.copy_in("COPY refused FROM STDIN", |chunk| {
            chunks += 1;
            chunk.extend_from_slice(&b"1\n".repeat(10_000));
            chunks < 100_000
        });
        assert_eq!(code(copied.await.unwrap_err()), "23505");
        assert!(chunks < 50_000, "2 GB would have been sent on: {chunks}");
        assert_eq!(int(&mut session, "SELECT count(*) FROM refused").await, 0);
        // An error at the very end, after all was sent.
        let mut is_first = true;
        let copied = session.copy_in("COPY refused FROM STDIN", |chunk| {
            chunk.extend_from_slice(if is_first { b"1\n2\n" } else { b"one" });
            std::mem::take(&mut is_first)
        });
        assert_eq!(code(copied.await.unwrap_err()), "22P02");
        assert_eq!(int(&mut session, "SELECT count(*) FROM refused").await, 0);
    });
}

#[test]
fn notices_amid_a_copy_are_not_taken_for_errors() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "CREATE TABLE noticed (n int, t text);
                    CREATE FUNCTION notice() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE NOTICE 'a row'; RETURN NEW; END $$;
                    CREATE TRIGGER t BEFORE INSERT ON noticed FOR EACH ROW
                    WHEN (NEW.n % 50 = 0) EXECUTE FUNCTION notice()";
        session.batch(text).await.unwrap();
        // More than the sockets hold, so that the first notices come before the last rows went.
        let (mut n, row) = (0, format!("\t{}\n", "x".repeat(1000)));
        let copied = session.copy_in("COPY noticed FROM STDIN", |chunk| {
            n += 1;
            chunk.extend_from_slice(n.to_string().as_bytes());
            chunk.extend_from_slice(row.as_bytes());
            n < 20_000
        });
        assert_eq!(copied.await.unwrap(), 20_000);
    });
}

#[test]
fn a_copy_in_the_wrong_place_is_an_error_and_the_session_goes_on() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE misplaced (n int)").await.unwrap();
        let error = session.batch("COPY misplaced FROM STDIN").await.unwrap_err();
        assert!(error.to_string().contains("copy_in"), "{error}");
        let error = session.batch("COPY pg_class TO STDOUT").await.unwrap_err();
        assert!(error.to_string().contains("use SELECT"), "{error}");
        let error = session.copy_in("SELECT 1", |_| panic!("no COPY")).await.unwrap_err();
        assert!(error.to_string().contains("no COPY ... FROM STDIN: SELECT 1"), "{error}");
        let error = session.copy_in("COPY nowhere FROM STDIN", |_| false).await.unwrap_err();
        assert_eq!(code(error), "42P01");
        assert_eq!(int(&mut session, "SELECT count(*) FROM misplaced").await, 0);
    });
}

#[test]
fn a_pipeline_runs_all_in_order_and_gives_each_its_rows() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE piped (n int PRIMARY KEY)").await.unwrap();
        let insert = session.prepare("INSERT INTO piped VALUES (?)", &[Type::Int]).await.unwrap();
        let text = "SELECT n FROM piped WHERE n <= ? ORDER BY n";
        let select = session.prepare(text, &[Type::Int]).await.unwrap();
        let empty = session.prepare("", &[]).await.unwrap();
        let numbers: Vec<_> = (0..10).map(|n| [Value::Int(n)]).collect();
        let mut requests: Vec<(Statement, &[Value<'_>])> = Vec::new();
        for values in &numbers {
            requests.extend([(insert, &values[..]), (select, &values[..])]);
        }
        requests.push((empty, &[]));
        let mut seen = vec![Vec::new(); requests.len()];
        let visit = |place: usize, row: &assay_wire::postgres::Row<'_>| {
            seen[place].push(row.int(0)?.unwrap());
            Ok(())
        };
        let done = session.pipeline(&requests, visit).await.unwrap();
        assert_eq!(done.len(), 21);
        for n in 0..10 {
            assert_eq!(done[n * 2], Completion { rows: 0, affected: 1 });
            assert_eq!(done[n * 2 + 1], Completion { rows: n as u64 + 1, affected: 0 });
            assert_eq!(seen[n * 2 + 1], (0..=n as i64).collect::<Vec<_>>());
        }
        assert!(session.pipeline(&[], |_, _| Ok(())).await.unwrap().is_empty());
        assert_eq!(session.transaction_state(), TransactionState::Idle);
    });
}

/// Requests and answers of many megabytes each: neither side may wait for the other for ever.
#[test]
fn a_pipeline_larger_than_all_sockets_ends() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let echo = session.prepare("SELECT repeat(?, 2)", &[Type::Text]).await.unwrap();
        let text = vec![b'a'; 20_000];
        // Windows with one request and with several.
        let values: Vec<_> =
            (0..2000).map(|n| [Value::Text(&text[..text.len() - n % 2 * 15_000])]).collect();
        let requests: Vec<_> = values.iter().map(|values| (echo, &values[..])).collect();
        let visit = |place: usize, row: &assay_wire::postgres::Row<'_>| {
            assert_eq!(row.text(0)?.unwrap().len(), 40_000 - place % 2 * 30_000);
            Ok(())
        };
        assert_eq!(session.pipeline(&requests, visit).await.unwrap().len(), 2000);
    });
}

#[test]
fn an_error_in_a_pipeline_undoes_all_of_it_and_the_session_goes_on() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        session.batch("CREATE TABLE undone (n int PRIMARY KEY, t text)").await.unwrap();
        let types = [Type::Int, Type::Text];
        let insert = session.prepare("INSERT INTO undone VALUES (?, ?)", &types).await.unwrap();
        let text = vec![b'x'; 5000];
        // The same key twice: in the first window of many, in the last, and in the only one.
        for (count, twice) in [(40, 3), (40, 39), (3, 2), (1, 0)] {
            if count == 1 {
                session.batch("INSERT INTO undone VALUES (0, '')").await.unwrap();
            }
            let key = |n: i64| if n == twice { 0 } else { n };
            let values: Vec<_> =
                (0..count).map(|n| [Value::Int(key(n)), Value::Text(&text)]).collect();
            let requests: Vec<_> = values.iter().map(|values| (insert, &values[..])).collect();
            let error = session.pipeline(&requests, |_, _| Ok(())).await.unwrap_err();
            assert_eq!(code(error), "23505");
            let kept = i64::from(count == 1);
            assert_eq!(int(&mut session, "SELECT count(*) FROM undone").await, kept);
        }
        // What does not fit is found before the others are sent.
        let good = [Value::Int(5), Value::Text(&text)];
        let mut requests = vec![(insert, &good[..]); 1];
        let others: Vec<_> = (6..40).map(|n| [Value::Int(n), Value::Text(&text)]).collect();
        requests.extend(others.iter().map(|values| (insert, &values[..])));
        requests.push((insert, &good[..1]));
        let error = session.pipeline(&requests, |_, _| Ok(())).await.unwrap_err();
        assert!(error.to_string().contains("takes 2 values, and 1 are given"), "{error}");
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        session.pipeline(&requests[..1], |_, _| Ok(())).await.unwrap();
    });
}

#[test]
fn an_error_that_comes_with_the_commit_is_the_pipelines_error() {
    run(|handle| async move {
        let mut session = open(&handle).await;
        let text = "CREATE TABLE parents (n int PRIMARY KEY);
                    CREATE TABLE children (n int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)";
        session.batch(text).await.unwrap();
        let text = "INSERT INTO children VALUES (?)";
        let insert = session.prepare(text, &[Type::Int]).await.unwrap();
        let one = [Value::Int(1)];
        let error = session.pipeline(&[(insert, &one)], |_, _| Ok(())).await.unwrap_err();
        assert_eq!(code(error), "23503");
        let error = session.run(insert, &one, |_| Ok(())).await.unwrap_err();
        assert_eq!(code(error), "23503");
        assert_eq!(int(&mut session, "SELECT count(*) FROM children").await, 0);
    });
}
