//! `race-load`: clients that `assayer load` is measured against, one thread each.
//!
//! | kind | what it is |
//! |---|---|
//! | `ping-pong-epoll`, `ping-pong-io-uring` | the floor: sends the bytes on stdin and waits for as many as the first answer had, without looking at them |
//! | `tokio-postgres-protocol`, `tokio-mysql-common` | point selects by the general runtime and the protocol crate of that server |
//!
//! stdout has one line, `{"operations": N}`. benchmarks/load.py takes the CPU time of the process.

mod ping_pong;
mod point_select;

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use crate::point_select::Load;

/// Which client.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    PingPongEpoll,
    PingPongIoUring,
    TokioPostgresProtocol,
    TokioMysqlCommon,
}

/// Clients for a race of client CPU; how many operations they did, on stdout
#[derive(Debug, Parser)]
struct Options {
    /// The client
    kind: Kind,
    /// The server's port on 127.0.0.1
    #[arg(long)]
    port: u16,
    /// Connections, which ask again when they were answered
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// How long
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Rows of sbtest1
    #[arg(long, default_value_t = 10_000)]
    rows: u32,
}

fn main() -> Result<()> {
    let Options { kind, port, connections, seconds, rows } = Options::parse();
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let time = Duration::try_from_secs_f64(seconds)?;
    let load = Load { server, connections, time, rows };
    let operations = match kind {
        Kind::PingPongEpoll => ping_pong::epoll::run(&ping_pong(&load)?, time)?,
        Kind::PingPongIoUring => ping_pong::uring::run(&ping_pong(&load)?, time)?,
        Kind::TokioPostgresProtocol => {
            point_select::run(&load, point_select::postgres::connection)?
        }
        Kind::TokioMysqlCommon => point_select::run(&load, point_select::mysql::connection)?,
    };
    println!("{{\"operations\": {operations}}}");
    Ok(())
}

fn ping_pong(load: &Load) -> Result<ping_pong::Peers> {
    let mut request = Vec::new();
    std::io::stdin().read_to_end(&mut request)?;
    ping_pong::Peers::open(load.server, load.connections, request)
}
