//! 50 connections of one worker that `GET` one key:
//! `cargo run -p assay-wire --release --example get_redis [PORT] [SECONDS] [COMMANDS IN A BATCH]`.
//!
//! A look at the cost of a session, not a measurement: one run, no check for other load. Sets the
//! key `assay:get` to three bytes.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use assay_runtime::{Address, Handle};
use assay_wire::resp::Session;
use assay_wire::resp::codec::command;
use assay_wire::{Target, WireError};

const KEY: &[u8] = b"assay:get";

async fn ask(
    handle: Handle,
    target: Rc<Target>,
    depth: usize,
    done: Rc<Cell<u64>>,
) -> Result<(), WireError> {
    let mut session = Session::open(&handle, &target).await?;
    let mut batch = Vec::new();
    command(&mut batch, &[b"SET", KEY, b"xxx"]);
    session.exchange(&batch, 1, |_| ()).await?;
    batch.clear();
    (0..depth).for_each(|_| command(&mut batch, &[b"GET", KEY]));
    loop {
        session.exchange(&batch, depth, |_| ()).await?;
        done.set(done.get() + depth as u64);
    }
}

fn main() -> Result<(), common::Failure> {
    let (port, seconds) = (common::argument(1, 6379)?, common::argument(2, 3.0)?);
    let depth = common::argument(3, 1)?;
    let address = Address::tcp("127.0.0.1", port)?;
    let (user, database) = (String::new(), String::new());
    let target = Rc::new(Target { address, user, password: None, database, tls: None });
    let (worker, done) = (common::worker()?, Rc::new(Cell::new(0)));
    for _ in 0..common::CONNECTIONS {
        let asking = ask(worker.handle(), Rc::clone(&target), depth, Rc::clone(&done));
        worker.spawn(async {
            if let Err(error) = asking.await {
                panic!("{error}");
            }
        });
    }
    common::measure(&worker, seconds, || done.get())
}
