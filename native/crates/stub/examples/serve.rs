//! One of the servers on one worker, for load generators of all kinds:
//! `cargo run -p assay-stub --release --example serve resp|http|proxy PORT [UPSTREAM PORT ...]`.
//!
//! `resp` answers every command with three bytes, `http` every request with 512, `proxy` passes
//! requests on. Runs until it is killed.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Address, Listener, Worker};
use assay_stub::http::{file_server, proxy};
use assay_stub::resp::echo;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kind = std::env::args().nth(1).ok_or("say which server: resp, http or proxy")?;
    let ports: Result<Vec<u16>, _> = std::env::args().skip(2).map(|text| text.parse()).collect();
    let ports = ports?;
    let (port, upstreams) = ports.split_first().ok_or("say which port to listen on")?;
    let upstreams: Result<_, _> =
        upstreams.iter().map(|port| Address::tcp("127.0.0.1", *port)).collect();
    let options = proxy::Options { upstreams: upstreams? };
    let worker = Worker::new(Clock::calibrated())?;
    let handle = worker.handle();
    let listener = Listener::bind(&handle, (Ipv4Addr::LOCALHOST, *port).into())?;
    worker.spawn(async move {
        let error = match &*kind {
            "resp" => {
                let options = echo::Options { answer: echo::Answer::Bulk(3) };
                echo::serve(handle, listener, options).await
            }
            "http" => file_server::serve(handle, listener, file_server::Options::default()).await,
            "proxy" => proxy::serve(handle, listener, options).await,
            other => panic!("server {other:?} is none of resp, http, proxy"),
        };
        panic!("{error}");
    });
    Ok(worker.run(u64::MAX, &AtomicBool::new(false))?)
}
