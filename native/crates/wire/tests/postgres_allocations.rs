//! A warm session asks and reads without taking memory. Needs Debian's package `postgresql`.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "support/postgres_loop.rs"]
mod postgres_loop;
#[path = "support/postgres_server.rs"]
mod postgres_server;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use assay_wire::postgres::{Row, Session};
use assay_wire::sql::{Row as _, Session as _, Type, Value};
use postgres_loop::run;
use postgres_server::Server;

/// Counts how often the thread asks the system's allocator for memory.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending counts no more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
        let mut counts = Vec::with_capacity(3);
        for turns in [5, 100] {
            let before = COUNT.get();
            for _ in 0..turns {
                session.run(select, &values, &mut visit).await.unwrap();
                session.pipeline(&requests, |_, row| visit(row)).await.unwrap();
            }
            counts.push(COUNT.get() - before);
        }
        assert!(counts[0] > 0, "the first requests take memory, and that is counted");
        assert_eq!(counts[1], 0);
        assert!(sum > 0);
    });
}
