//! What a point SELECT costs the client: sessions on one worker that ask for a row by its key.
//!
//! `point_select_postgres HOST:PORT|SOCKET USER SECONDS [CONNECTIONS]` against a database
//! `postgres` with the table that `pgbench -i` makes.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // A program.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Address, Handle, Worker};
use assay_wire::postgres::Session;
use assay_wire::sql::{Row as _, Session as _, Type, Value};
use assay_wire::{Target, WireError};

/// Rows of `pgbench_accounts` at scale 1.
const ROWS: u64 = 100_000;

#[derive(Default)]
struct Counts {
    operations: Cell<u64>,
    error: RefCell<Option<WireError>>,
}

async fn ask(
    handle: Handle,
    target: Target,
    mut random: u64,
    counts: Rc<Counts>,
) -> Result<(), WireError> {
    let mut session = Session::open(&handle, &target).await?;
    let text = "SELECT abalance FROM pgbench_accounts WHERE aid = ?";
    let statement = session.prepare(text, &[Type::Int]).await?;
    loop {
        // An xorshift: any spread over the keys will do.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let key = (random % ROWS + 1) as i64;
        session.run(statement, &[Value::Int(key)], |row| row.int(0).map(|_| ())).await?;
        counts.operations.set(counts.operations.get() + 1);
    }
}

/// User and system time of this process, in microseconds.
fn cpu_us() -> (i64, i64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for one rusage, of which all bytes are valid from the start.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    (us(usage.ru_utime), us(usage.ru_stime))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, user, seconds, rest @ ..] = &arguments[..] else {
        eprintln!("point_select_postgres HOST:PORT|SOCKET USER SECONDS [CONNECTIONS]");
        std::process::exit(2);
    };
    let address = place.parse::<SocketAddr>().map_or_else(|_| Address::unix(place), Address::Tcp);
    let (user, database) = (user.clone(), "postgres".to_owned());
    let target = Target { address, user, password: None, database, tls: None };
    let seconds: u64 = seconds.parse().expect("a number of seconds");
    let connections: u64 = rest.first().map_or(50, |count| count.parse().expect("a number"));

    let worker = Worker::new(Clock::calibrated()).expect("a worker");
    let counts = Rc::new(Counts::default());
    for number in 1..=connections {
        let (handle, target, counts) = (worker.handle(), target.clone(), Rc::clone(&counts));
        worker.spawn(async move {
            let seed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            if let Err(error) = ask(handle, target, seed, Rc::clone(&counts)).await {
                *counts.error.borrow_mut() = Some(error);
            }
        });
    }
    let clock = worker.handle().clock();
    let run_for = |ms: u64| {
        let until = clock.ticks() + clock.ticks_of_ns(ms * 1_000_000);
        worker.run(until, &AtomicBool::new(false)).expect("a loop");
    };
    run_for(1000); // Logging in and warming up.
    let (first, before) = (counts.operations.get(), cpu_us());
    run_for(seconds * 1000);
    let (user_us, system_us) = (cpu_us().0 - before.0, cpu_us().1 - before.1);
    let operations = counts.operations.get() - first;
    if let Some(error) = counts.error.take() {
        println!("a session ended: {error}");
    }
    let per_operation = |us: i64| us as f64 / operations.max(1) as f64;
    println!(
        "{:.0} operations/s; CPU per operation {:.2} us: user {:.2}, system {:.2}",
        operations as f64 / seconds as f64,
        per_operation(user_us + system_us),
        per_operation(user_us),
        per_operation(system_us),
    );
}
