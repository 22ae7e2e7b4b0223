//! 50 connections of one worker that `GET` one file:
//! `cargo run -p assay-wire --release --example get_http [PORT] [SECONDS] [PATH]`.
//!
//! A look at the cost of a session, not a measurement: one run, no check for other load. One
//! request at a time on each connection, as clients of HTTP/1.1 do.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use assay_runtime::{Address, Handle};
use assay_wire::WireError;
use assay_wire::http::{HttpTarget, Session};

async fn ask(handle: Handle, target: Rc<HttpTarget>, done: Rc<Cell<u64>>) -> Result<(), WireError> {
    loop {
        let mut session = Session::open(&handle, &target).await?;
        while session.is_open() {
            session.get().await?;
            done.set(done.get() + 1);
        }
    }
}

fn main() -> Result<(), common::Failure> {
    let (port, seconds) = (common::argument(1, 80)?, common::argument(2, 3.0)?);
    let path = common::argument(3, "/".to_owned())?;
    let address = Address::tcp("127.0.0.1", port)?;
    let target = Rc::new(HttpTarget::new(address, "localhost", path)?);
    let (worker, done) = (common::worker()?, Rc::new(Cell::new(0)));
    for _ in 0..common::CONNECTIONS {
        let asking = ask(worker.handle(), Rc::clone(&target), Rc::clone(&done));
        worker.spawn(async {
            if let Err(error) = asking.await {
                panic!("{error}");
            }
        });
    }
    common::measure(&worker, seconds, || done.get())
}
