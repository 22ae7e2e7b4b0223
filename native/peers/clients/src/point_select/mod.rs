//! sysbench's point select by tokio on one thread, a task per connection, and a codec of a crate.
//!
//! Written as a user of these crates would: the codec makes and reads every message, buffers are
//! kept, one write per request. The server is that of `benchmarks/servers.py`: user and database
//! `load`, no password.

pub mod mysql;
pub mod postgres;

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::net::TcpStream;

const USER: &str = "load";
const DATABASE: &str = "load";
/// Room for an answer.
const INPUT_BYTES: usize = 8 * 1024;

/// What a client is to do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The server.
    pub server: SocketAddr,
    /// How many connections ask.
    pub connections: usize,
    /// How long.
    pub time: Duration,
    /// Ids of sbtest1.
    pub rows: u32,
}

/// A session that has prepared the statement.
pub trait Session {
    /// Selects a row and looks at it; whether there was one.
    fn select(&mut self, id: u32) -> impl Future<Output = Result<bool>> + Send;
}

/// Lets all connections ask until the time is over; how many answers came.
pub fn run<F>(load: &Load, connection: impl Fn(Load, usize) -> F) -> Result<u64>
where
    F: Future<Output = Result<u64>> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let tasks: Vec<_> =
            (0..load.connections).map(|number| tokio::spawn(connection(*load, number))).collect();
        let mut operations = 0;
        for task in tasks {
            operations += task.await??;
        }
        Ok(operations)
    })
}

async fn connect(load: &Load) -> Result<TcpStream> {
    let socket = TcpStream::connect(load.server).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Asks again and again; `number` tells connections apart.
async fn ask(mut session: impl Session, load: &Load, number: usize) -> Result<u64> {
    let (end, mut operations) = (Instant::now() + load.time, 0);
    let mut random = number as u64 + 1;
    while Instant::now() < end {
        // Marsaglia's xorshift64.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let id = (random % u64::from(load.rows)) as u32 + 1;
        ensure!(session.select(id).await?, "there is no row {id}");
        operations += 1;
    }
    Ok(operations)
}
