//! A reverse proxy: requests go on to other servers by turns, over connections that stay open.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use assay_runtime::{Address, Connection, Handle, Listener, RuntimeError};
use assay_wire::WireError;
use assay_wire::http::codec::{BodyReader, Framing, Head, HeadReader};

use super::request::{Found, REFUSAL, Request, RequestReader, without_connection};

const NO_UPSTREAM: &[u8] =
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How the proxy behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where requests go, by turns; without any, all are answered 502.
    pub upstreams: Vec<Address>,
}

/// Serves until the worker stops, or no more connections can be accepted.
///
/// Passes heads on as they are but for `Connection`, and bodies as they come. An upstream that
/// cannot be reached is a 502; one that fails within an answer ends the client's connection.
pub async fn serve(handle: Handle, listener: Listener, options: Options) -> RuntimeError {
    let upstreams = Rc::new(Upstreams::new(handle.clone(), options.upstreams));
    loop {
        match listener.accept().await {
            Ok(connection) => handle.spawn(attend(connection, Rc::clone(&upstreams))),
            Err(error) => return error,
        }
    }
}

async fn attend(mut client: Connection, upstreams: Rc<Upstreams>) {
    let (mut requests, mut output) = (RequestReader::default(), Vec::new());
    loop {
        match requests.next(client.input()) {
            Found::Request(bytes, request) => {
                client.consume(bytes);
                let forwarded = requests.forwarded();
                let stays = pass_on(&mut client, &upstreams, request, forwarded, &mut output).await;
                if !(stays && request.stays_open) {
                    return;
                }
            }
            Found::Part => {
                if client.more().await.is_err() {
                    return;
                }
            }
            Found::Refused => {
                // Whether it arrives or not, the connection ends.
                let _ = client.send(REFUSAL).await;
                return;
            }
        }
    }
}

/// Has a request answered; whether the client's connection goes on.
async fn pass_on(
    client: &mut Connection,
    upstreams: &Upstreams,
    request: Request,
    forwarded: &[u8],
    output: &mut Vec<u8>,
) -> bool {
    let Some((upstream, head)) = upstreams.ask(forwarded).await else {
        let _ = client.send(NO_UPSTREAM).await;
        return false;
    };
    let place = upstream.place;
    let head = if request.is_head { head.without_body() } else { head };
    match relay(client, upstream, head, output).await {
        Ok(Some(upstream)) => {
            upstreams.idle[place].borrow_mut().push(upstream);
            true
        }
        Ok(None) => head.framing != Framing::UntilClose,
        Err(_) => false,
    }
}

/// Passes an answer on; the upstream if it can be asked again.
async fn relay(
    client: &mut Connection,
    mut upstream: Upstream,
    head: Head,
    output: &mut Vec<u8>,
) -> Result<Option<Upstream>, WireError> {
    let mut body = BodyReader::new(head.framing);
    output.clear();
    output.extend_from_slice(&upstream.forwarded);
    // What has come of the body goes out with the head.
    let progress = body.next(upstream.connection.input(), |_| ())?;
    output.extend_from_slice(&upstream.connection.input()[..progress.bytes]);
    upstream.connection.consume(progress.bytes);
    client.send(output).await?;
    let mut is_over = progress.is_over;
    while !is_over {
        match upstream.connection.more().await {
            Err(RuntimeError::Closed) if body.ends_with_connection() => return Ok(None),
            result => result?,
        }
        let progress = body.next(upstream.connection.input(), |_| ())?;
        client.send(&upstream.connection.input()[..progress.bytes]).await?;
        upstream.connection.consume(progress.bytes);
        is_over = progress.is_over;
    }
    let can_be_asked = head.stays_open && upstream.connection.input().is_empty();
    Ok(can_be_asked.then_some(upstream))
}

/// The servers behind.
struct Upstreams {
    handle: Handle,
    addresses: Vec<Address>,
    /// Open connections that nobody uses now, by server.
    idle: Vec<RefCell<Vec<Upstream>>>,
    turn: Cell<usize>,
}

/// A connection to one of them.
struct Upstream {
    place: usize,
    connection: Connection,
    heads: HeadReader,
    /// The head that `forwarded` was made of.
    source: Vec<u8>,
    /// That head as it goes to a client.
    forwarded: Vec<u8>,
}

impl Upstreams {
    fn new(handle: Handle, addresses: Vec<Address>) -> Self {
        let idle = addresses.iter().map(|_| RefCell::default()).collect();
        Self { handle, addresses, idle, turn: Cell::new(0) }
    }

    /// Sends a request to the next server; the connection and the head of its answer, or none if
    /// nobody answers there.
    async fn ask(&self, request: &[u8]) -> Option<(Upstream, Head)> {
        let place = self.turn.get();
        self.turn.set(if place + 1 < self.addresses.len() { place + 1 } else { 0 });
        let idle = self.idle.get(place)?.borrow_mut().pop();
        // A server may close an idle connection at any time: then it is asked over another.
        if let Some(mut upstream) = idle
            && let Ok(head) = upstream.ask(request).await
        {
            return Some((upstream, head));
        }
        let connection = Connection::open(&self.handle, &self.addresses[place]).await.ok()?;
        let mut upstream = Upstream::new(place, connection);
        let head = upstream.ask(request).await.ok()?;
        Some((upstream, head))
    }
}

impl Upstream {
    fn new(place: usize, connection: Connection) -> Self {
        let (source, forwarded) = (Vec::new(), Vec::new());
        Self { place, connection, heads: HeadReader::default(), source, forwarded }
    }

    async fn ask(&mut self, request: &[u8]) -> Result<Head, WireError> {
        self.connection.send(request).await?;
        loop {
            match self.heads.next(self.connection.input())? {
                Some((bytes, head)) => {
                    self.connection.consume(bytes);
                    if head.status >= 200 {
                        self.forward_head();
                        return Ok(head);
                    }
                }
                None => self.connection.more().await?,
            }
        }
    }

    fn forward_head(&mut self) {
        if self.source != self.heads.last() {
            self.source.clear();
            self.source.extend_from_slice(self.heads.last());
            without_connection(&self.source, &mut self.forwarded);
        }
    }
}
