//! A real PostgreSQL server that dies. Needs Debian's package `postgresql`.

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;

use assay_runtime::{Handle, RuntimeError, deadline, sleep_until};
use assay_wire::WireError;
use assay_wire::postgres::Session;
use assay_wire::sql::{Row as _, Session as _, Value};

use crate::postgres_server::Server;
use crate::worker::{after_ms, run, until};

/// Starts a long request; its error comes to the cell.
fn start_long_request(handle: &Handle, session: Session) -> Rc<RefCell<Option<WireError>>> {
    let error = Rc::new(RefCell::new(None));
    let (mut session, to) = (session, Rc::clone(&error));
    handle.spawn(async move {
        let statement = session.prepare("SELECT pg_sleep(50)", &[]).await.unwrap();
        *to.borrow_mut() = session.run(statement, &[], |_| Ok(())).await.err();
    });
    error
}

/// Waits until the server itself says that the long request is under way.
async fn until_under_way(handle: &Handle, idle: &mut Session) {
    let text = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let statement = idle.prepare(text, &[]).await.unwrap();
    let mut count = Some(0);
    while count != Some(1) {
        sleep_until(handle, after_ms(handle, 5)).await;
        let counted = idle.run(statement, &[], |row| {
            count = row.int(0)?;
            Ok(())
        });
        counted.await.unwrap();
    }
}

#[test]
fn a_server_that_is_killed_ends_requests_and_one_that_is_back_takes_new_sessions() {
    run(|handle| async move {
        let mut server = Server::start();
        let target = server.target();
        for signal in ["KILL", "INT"] {
            let mut idle = Session::open(&handle, &target).await.unwrap();
            idle.batch("CREATE TABLE IF NOT EXISTS kept (n int)").await.unwrap();
            let busy = Session::open(&handle, &target).await.unwrap();
            let error = start_long_request(&handle, busy);
            until_under_way(&handle, &mut idle).await;
            server.end(signal);
            until(&handle, || error.borrow().is_some()).await;
            let error = error.take().unwrap();
            assert!(matches!(error, WireError::Runtime(_)), "{signal}: {error}");
            let refused = Session::open(&handle, &target).await.err().unwrap();
            assert!(matches!(refused, WireError::Runtime(RuntimeError::Connect { .. })));

            server.go_on();
            let error = idle.batch("SELECT 1").await.unwrap_err();
            assert!(matches!(error, WireError::Runtime(_)), "{signal}: {error}");
            assert!(error.to_string().contains("57P01: terminating connection"), "{error}");
            let error = idle.batch("SELECT 1").await.unwrap_err();
            assert!(error.to_string().contains("open a new one"), "{error}");
            let mut fresh = Session::open(&handle, &target).await.unwrap();
            fresh.batch("SELECT * FROM kept").await.unwrap();
        }
    });
}

/// The number of the server's process for a session.
async fn process(session: &mut Session) -> i64 {
    let me = session.prepare("SELECT pg_backend_pid()", &[]).await.unwrap();
    let mut number = None;
    let visit = |row: &assay_wire::postgres::Row<'_>| {
        number = row.int(0)?;
        Ok(())
    };
    session.run(me, &[], visit).await.unwrap();
    number.unwrap()
}

#[test]
fn a_session_that_is_terminated_hears_why() {
    run(|handle| async move {
        let server = Server::shared();
        for target in [server.target(), server.unix_target()] {
            let mut victim = Session::open(&handle, &target).await.unwrap();
            let mut admin = Session::open(&handle, &target).await.unwrap();
            let number = process(&mut victim).await;
            // Waits until the process is gone: its last words lie in the socket by then.
            let text = format!("SELECT pg_terminate_backend({number}, 5000)");
            admin.batch(&text).await.unwrap();
            let error = victim.batch("SELECT 1").await.unwrap_err();
            assert!(error.to_string().contains("57P01: terminating connection"), "{error}");
            assert!(matches!(error, WireError::Runtime(_)));
        }
    });
}

/// The server kills all its processes when one has crashed, and starts again by itself.
#[test]
fn a_crash_closes_all_sessions_and_new_ones_are_let_in_after_it() {
    run(|handle| async move {
        let server = Server::start();
        let mut victim = Session::open(&handle, &server.target()).await.unwrap();
        let mut idle = Session::open(&handle, &server.target()).await.unwrap();
        let number = process(&mut victim).await;
        let error = start_long_request(&handle, victim);
        until_under_way(&handle, &mut idle).await;
        Command::new("sh").args(["-c", &format!("kill -KILL {number}")]).status().unwrap();
        until(&handle, || error.borrow().is_some()).await;
        let error = error.take().unwrap();
        assert!(matches!(error, WireError::Runtime(RuntimeError::Closed)), "{error}");
        let error = idle.batch("SELECT pg_sleep(20)").await.unwrap_err();
        assert!(matches!(error, WireError::Runtime(RuntimeError::Closed)), "{error}");
        let mut fresh = loop {
            match Session::open(&handle, &server.target()).await {
                Ok(session) => break session,
                Err(WireError::Login { why, .. }) => assert!(why.starts_with("57P03"), "{why}"),
                Err(WireError::Runtime(_)) => {}
                Err(other) => panic!("{other}"),
            }
            sleep_until(&handle, after_ms(&handle, 5)).await;
        };
        fresh.batch("SELECT 1").await.unwrap();
    });
}

#[test]
fn a_request_that_was_given_up_leaves_no_answer_for_the_next() {
    run(|handle| async move {
        let mut session = Session::open(&handle, &Server::shared().target()).await.unwrap();
        let statement = session.prepare("SELECT pg_sleep(50)", &[]).await.unwrap();
        let values: &[Value<'_>] = &[];
        let end = after_ms(&handle, 1);
        assert!(deadline(&handle, end, session.run(statement, values, |_| Ok(()))).await.is_err());
        let error = session.run(statement, values, |_| Ok(())).await.unwrap_err();
        assert!(error.to_string().contains("open a new one"), "{error}");
    });
}
