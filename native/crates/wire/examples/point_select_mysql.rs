//! What a point read costs the client: 50 connections of one worker read rows of a server by
//! primary key, one after another each, for some seconds.
//!
//! `point_select_mysql (PORT | SOCKET) USER DATABASE TABLE ROWS [SECONDS]`; a password in
//! `MYSQL_PWD`. The table is one of sysbench: `id` from 1 to ROWS, and `c`.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // What it is for; and a panic says what failed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_primitives::Clock;
use assay_runtime::{Address, Handle, Worker, sleep_until};
use assay_wire::mysql::Session;
use assay_wire::sql::{Row as _, Session as _, Type, Value};
use assay_wire::{Target, WireError};

const CONNECTIONS: u64 = 50;

/// Microseconds of CPU that this process has used, in all and in the kernel; getrusage(2).
fn cpu_us() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: there is room for what the kernel writes.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(failed, 0, "the kernel knows what a process has used");
    // SAFETY: the call has not failed, so it was written.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (us(usage.ru_utime) + us(usage.ru_stime), us(usage.ru_stime))
}

async fn read_rows(
    handle: Handle,
    target: Target,
    table: String,
    (seed, rows): (u64, u64),
    stop: Arc<AtomicBool>,
) -> Result<u64, WireError> {
    let mut session = Session::open(&handle, &target).await?;
    let sql = format!("SELECT c FROM {table} WHERE id = ?");
    let statement = session.prepare(&sql, &[Type::Int]).await?;
    let (mut state, mut done, mut bytes) = (seed, 0, 0);
    while !stop.load(Ordering::Relaxed) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let id = (state >> 33) % rows + 1;
        let completion = session
            .run(statement, &[Value::Int(id.cast_signed())], |row| {
                bytes += row.text(0)?.map_or(0, <[u8]>::len);
                Ok(())
            })
            .await?;
        done += completion.rows;
    }
    session.close().await;
    assert!(bytes > 0, "rows have a text");
    Ok(done)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, user, database, table, rows, rest @ ..] = &arguments[..] else {
        println!("point_select_mysql (PORT | SOCKET) USER DATABASE TABLE ROWS [SECONDS]");
        return;
    };
    let address = match place.parse() {
        Ok(port) => Address::tcp("127.0.0.1", port).unwrap(),
        Err(_) => Address::unix(place),
    };
    let password = std::env::var("MYSQL_PWD").ok();
    let target =
        Target { address, user: user.clone(), password, database: database.clone(), tls: None };
    let rows: u64 = rows.parse().unwrap();
    let seconds: u64 = rest.first().map_or(5, |seconds| seconds.parse().unwrap());

    let worker = Worker::new(Clock::calibrated()).unwrap();
    let (total, stop) = (Rc::new(Cell::new(0)), Arc::new(AtomicBool::new(false)));
    for seed in 0..CONNECTIONS {
        let (handle, target, table) = (worker.handle(), target.clone(), table.clone());
        let (total, stop) = (Rc::clone(&total), Arc::clone(&stop));
        worker.spawn(async move {
            let done = read_rows(handle, target, table, (seed, rows), stop).await.unwrap();
            total.set(total.get() + done);
        });
    }
    let (handle, ended) = (worker.handle(), Arc::clone(&stop));
    worker.spawn(async move {
        let clock = handle.clock();
        sleep_until(&handle, clock.ticks() + clock.ticks_of_ns(seconds * 1_000_000_000)).await;
        ended.store(true, Ordering::Relaxed);
    });
    let before = cpu_us();
    worker.run(u64::MAX, &AtomicBool::new(false)).unwrap();
    let (cpu, kernel) = cpu_us();
    let done = total.get() as f64;
    println!(
        "{:.0} ops/s, {:.2} us of CPU per op, {:.2} of them in the kernel",
        done / seconds as f64,
        (cpu - before.0) / done,
        (kernel - before.1) / done
    );
}
