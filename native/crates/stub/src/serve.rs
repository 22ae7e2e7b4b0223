//! What servers that need nobody else to answer have in common.

use std::rc::Rc;

use assay_runtime::{Connection, Handle, Listener, RuntimeError};

use crate::stall::Stalls;

/// Answers are sent when there are so many bytes of them, although more requests lie there.
pub const OUTPUT_BYTES: usize = 256 * 1024;

/// Whether to go on answering what has arrived already.
pub fn has_room(output: &[u8]) -> bool {
    output.len() < OUTPUT_BYTES
}

/// Answers the requests of one connection.
pub trait Service: 'static {
    /// Appends what is said before any request.
    fn greet(&mut self, _output: &mut Vec<u8>) {}

    /// Appends the answers to the requests that the input starts with, as long as there is
    /// [room](has_room).
    fn answer(&mut self, input: &[u8], output: &mut Vec<u8>) -> Answered;
}

/// What was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Bytes of the input that are done with.
    pub bytes: usize,
    /// What to do when the answers are sent.
    pub then: Then,
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Answer the rest of the input.
    GoOn,
    /// Wait for more input: no whole request is there.
    Read,
    /// Close.
    Close,
}

/// Accepts connections and has each attended to by a service of its own.
pub(crate) async fn accept<S: Service>(
    handle: Handle,
    listener: Listener,
    service: impl Fn() -> S,
    stalls: Option<Rc<Stalls>>,
) -> RuntimeError {
    loop {
        match listener.accept().await {
            Ok(connection) => handle.spawn(attend(connection, service(), stalls.clone())),
            Err(error) => return error,
        }
    }
}

/// Answers until either side closes.
async fn attend(mut connection: Connection, mut service: impl Service, stalls: Option<Rc<Stalls>>) {
    let handle = connection.handle().clone();
    let mut output = handle.lend();
    service.greet(&mut output);
    if !output.is_empty() && connection.send(&output).await.is_err() {
        return;
    }
    output.clear();
    let mut then = Then::Read;
    while then != Then::Close {
        if then == Then::Read {
            // Whoever waits owns no buffer.
            handle.give_back(std::mem::take(&mut output));
            if connection.more().await.is_err() {
                return;
            }
            output = handle.lend();
        }
        if let Some(stalls) = &stalls {
            stalls.pass().await;
        }
        let answered = service.answer(connection.input(), &mut output);
        connection.consume(answered.bytes);
        if !output.is_empty() && connection.send(&output).await.is_err() {
            return;
        }
        output.clear();
        then = answered.then;
    }
}
