//! A warm session asks and reads without taking memory. Needs Debian's package `postgresql`.

use assay_wire::postgres::{Row, Session};
use assay_wire::sql::{Row as _, Session as _, Type, Value};

use crate::allocations;
use crate::postgres_server::Server;
use crate::worker::run;

#[test]
fn warm_requests_and_pipelines_take_no_memory() {
    run(|handle| async move {
        let mut session = Session::open(&handle, &Server::shared().target()).await.unwrap();
        let text = "SELECT g, ? || g FROM generate_series(1, ?) g";
        let select = session.prepare(text, &[Type::Text, Type::Int]).await.unwrap();
        let values = [Value::Text(b"some text"), Value::Int(100)];
        let requests = [(select, &values[..]); 5];
        let mut sum = 0;
        let mut visit = |row: &Row<'_>| {
            sum += row.int(0)?.unwrap() + row.text(1)?.unwrap().len() as i64;
            Ok(())
        };
        let mut counts = Vec::with_capacity(6);
        for turns in [5, 100, 100, 100, 100, 100] {
            let before = allocations::times();
            for _ in 0..turns {
                session.run(select, &values, &mut visit).await.unwrap();
                session.pipeline(&requests, |_, row| visit(row)).await.unwrap();
            }
            counts.push(allocations::times() - before);
        }
        assert!(counts[0] > 0, "the first requests take memory, and that is counted");
        // A busy machine may once more answer in longer pieces than before, for which room is made; what
        // each request takes would show in every series.
        assert!(counts[1..].contains(&0), "{counts:?}");
        assert!(sum > 0);
    });
}
