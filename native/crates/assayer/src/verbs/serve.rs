//! `serve`: small servers of our own on loopback, to try clients and proxies on.

use std::net::{Ipv4Addr, SocketAddr};

use assay_load::tpcc::answers::TpccAnswers;
use assay_load::tpcc::statements::Flavour;
use assay_primitives::Clock;
use assay_runtime::{Address, Handle, Listener, RuntimeError, Worker};
use assay_stub::http::{file_server, proxy};
use assay_stub::{memcached, resp::echo, sql, stall};

use super::typed;
use crate::failure::Failure;
use crate::files;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{LoadProtocol, ServeKind, ServeRequest};
use crate::protocol::response::{Served, Serving};

/// Serves until the process is told to stop.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: ServeRequest = typed(request)?;
    check(&request)?;
    files::allow_most();
    let upstreams = request.upstreams.iter().map(|text| address(text));
    let upstreams = upstreams.collect::<Result<Vec<_>, _>>()?;
    let worker = Worker::new(Clock::calibrated()).map_err(anyhow::Error::from)?;
    let (handle, mut ports) = (worker.handle(), Vec::new());
    for port in &request.ports {
        let listener = listen(&handle, *port)?;
        ports.push(listener.address().map_err(anyhow::Error::from)?.port());
        start(&handle, listener, &request, upstreams.clone());
    }
    output.write("serving", &Serving { pid: std::process::id(), ports: &ports })?;
    worker.run(u64::MAX, life::stop_flag()).map_err(anyhow::Error::from)?;
    output.write("result", &Served {})
}

fn check(request: &ServeRequest) -> Result<(), Failure> {
    if request.stall_ms > 0 && request.stall_ms >= request.period_ms {
        let ServeRequest { stall_ms, period_ms, .. } = request;
        let message = format!("stall_ms is {stall_ms}: must be below period_ms, {period_ms}");
        return Err(Failure::usage(message));
    }
    match request.kind {
        ServeKind::HttpProxy if request.upstreams.is_empty() => {
            Err(Failure::usage("upstreams is empty: a proxy needs somewhere to pass requests to"))
        }
        ServeKind::HttpProxy if request.stall_ms > 0 => {
            Err(Failure::usage("stall_ms: a proxy does not stall; let its upstreams do it"))
        }
        ServeKind::Tpcc if request.stall_ms > 0 => {
            Err(Failure::usage("stall_ms: a stand-in for an SQL server does not stall"))
        }
        ServeKind::Tpcc if flavour(request.protocol).is_none() => {
            Err(Failure::usage("protocol: a stand-in for an SQL server speaks mysql or postgresql"))
        }
        _ => Ok(()),
    }
}

/// Whose statements a stand-in knows.
fn flavour(protocol: Option<LoadProtocol>) -> Option<Flavour> {
    match protocol {
        Some(LoadProtocol::Mysql) => Some(Flavour::MariaDb),
        Some(LoadProtocol::Postgresql) => Some(Flavour::Postgres),
        Some(LoadProtocol::Redis | LoadProtocol::Memcached | LoadProtocol::Http) | None => None,
    }
}

fn address(text: &str) -> Result<Address, Failure> {
    let wrong = || Failure::usage(format!("upstreams: {text:?} is not HOST:PORT"));
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    Address::tcp(host, port).map_err(|error| Failure::usage(error.to_string()))
}

fn listen(handle: &Handle, port: u16) -> Result<Listener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Listener::bind(handle, address).map_err(|error| Failure::Missing {
        message: format!("{address} cannot be listened on: {error}"),
        next: "choose another port, or 0 for a free one".to_owned(),
    })
}

fn start(handle: &Handle, listener: Listener, request: &ServeRequest, upstreams: Vec<Address>) {
    let ServeRequest { kind, bytes, stall_ms, period_ms, .. } = *request;
    let file = file_server::Options { body_bytes: bytes };
    let echo = echo::Options { answer: echo::Answer::Bulk(bytes) };
    let stalling = |server| stall::Options { period_ms, stall_ms, server };
    let spawned = handle.clone();
    let handle = handle.clone();
    match kind {
        ServeKind::HttpProxy => {
            let options = proxy::Options { upstreams };
            spawned.spawn(async move { ended(proxy::serve(handle, listener, options).await) });
        }
        ServeKind::HttpFile => {
            let options = stalling(stall::Server::Http(file));
            spawned.spawn(async move { ended(stall::serve(handle, listener, options).await) });
        }
        ServeKind::Resp => {
            let options = stalling(stall::Server::Resp(echo));
            spawned.spawn(async move { ended(stall::serve(handle, listener, options).await) });
        }
        ServeKind::Memcached => {
            let options = memcached::Options { value_bytes: bytes };
            let options = stalling(stall::Server::Memcached(options));
            spawned.spawn(async move { ended(stall::serve(handle, listener, options).await) });
        }
        ServeKind::Tpcc => {
            // Checked before: it is one of the two.
            let flavour = flavour(request.protocol).unwrap_or(Flavour::Postgres);
            let answers = TpccAnswers::new(flavour);
            spawned.spawn(async move {
                ended(match flavour {
                    Flavour::Postgres => sql::postgres::serve(handle, listener, answers).await,
                    _ => sql::mysql::serve(handle, listener, answers).await,
                });
            });
        }
    }
}

/// A server that cannot accept any more ends the process, as if it was told to.
fn ended(_: RuntimeError) {
    life::request_stop();
}
