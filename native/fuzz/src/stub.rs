//! The servers of `assay-stub`, which read what clients send.

use assay_stub::http::file_server::{self, FileServer};
use assay_stub::http::request::{Found, RequestReader};
use assay_stub::memcached::{self, SameValue};
use assay_stub::resp::echo::{self, Echo};
use assay_stub::serve::{Answered, OUTPUT_BYTES, Service, Then};

use super::feed::{Reader, Step, same_however_cut, words};
use super::transcript::Transcript;

/// The first byte says who reads: the RESP server, the HTTP file server, the HTTP proxy or the
/// memcached server; the rest is what a client sends.
///
/// # Panics
/// When something does not hold.
pub fn check(input: &[u8]) {
    let Some((who, sent)) = input.split_first() else { return };
    match who % 4 {
        0 => same_however_cut(sent, resp),
        1 => same_however_cut(sent, http),
        2 => same_however_cut(sent, Requests::default),
        _ => same_however_cut(sent, memcached),
    }
}

/// What the server answers, or passes on.
pub fn said(input: &[u8]) -> String {
    let (who, sent) = input.split_first().unwrap_or((&0, &[]));
    match who % 4 {
        0 => words(sent, &mut resp()),
        1 => words(sent, &mut http()),
        2 => words(sent, &mut Requests::default()),
        _ => words(sent, &mut memcached()),
    }
}

/// The RESP server.
pub fn resp() -> Answering<Echo> {
    Answering::new(echo::service(echo::Options { answer: echo::Answer::Bulk(3) })())
}

/// The HTTP file server.
pub fn http() -> Answering<FileServer> {
    Answering::new(file_server::service(file_server::Options { body_bytes: 3 })())
}

/// The memcached server.
pub fn memcached() -> Answering<SameValue> {
    Answering::new(memcached::service(memcached::Options { value_bytes: 3 })())
}

/// A server's answers.
pub struct Answering<S> {
    service: S,
    output: Vec<u8>,
}

impl<S: Service> Answering<S> {
    fn new(service: S) -> Self {
        Self { service, output: Vec::new() }
    }
}

impl<S: Service> Reader for Answering<S> {
    /// Answers are sent when there are so many; a vector doubles and holds old and new while it
    /// grows.
    const MEMORY: usize = 4 * OUTPUT_BYTES;

    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        let Answered { bytes, then } = self.service.answer(input, &mut self.output);
        transcript.bytes(&self.output);
        self.output.clear();
        match then {
            Then::GoOn => Step::Took(bytes),
            Then::Read => Step::More(bytes),
            Then::Close => {
                transcript.note("closed");
                Step::Over
            }
        }
    }
}

/// Requests as the proxy passes them on.
#[derive(Default)]
pub struct Requests(RequestReader);

impl Reader for Requests {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        match self.0.next(input) {
            Found::Request(bytes, request) => {
                transcript.note(request);
                transcript.bytes(self.0.forwarded());
                Step::Took(bytes)
            }
            Found::Part => Step::More(0),
            Found::Refused => {
                transcript.note("refused");
                Step::Over
            }
        }
    }
}
