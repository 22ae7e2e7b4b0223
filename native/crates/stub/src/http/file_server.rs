//! One file, whatever the path.

use std::rc::Rc;

use assay_runtime::{Handle, Listener, RuntimeError};

use super::request::{Found, REFUSAL, RequestReader};
use crate::serve::{self, Answered, Service, Then, has_room};

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of the file.
    pub body_bytes: usize,
}

impl Default for Options {
    /// The file of 512 bytes of the tests of proxies.
    fn default() -> Self {
        Self { body_bytes: 512 }
    }
}

/// Serves until the worker stops, or no more connections can be accepted. Connections stay open
/// until the client asks for their end; requests may be pipelined.
pub async fn serve(handle: Handle, listener: Listener, options: Options) -> RuntimeError {
    serve::accept(handle, listener, service(options), None).await
}

/// Makes what attends to a connection.
pub fn service(options: Options) -> impl Fn() -> FileServer {
    let usual = Rc::new(answer(options.body_bytes, ""));
    let last = Rc::new(answer(options.body_bytes, "Connection: close\r\n"));
    move || {
        let (usual, last) = (Rc::clone(&usual), Rc::clone(&last));
        FileServer { usual, last, requests: RequestReader::default() }
    }
}

struct Answer {
    bytes: Vec<u8>,
    head_bytes: usize,
}

fn answer(body_bytes: usize, field: &str) -> Answer {
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\nServer: assay-serve\r\nContent-Type: application/octet-stream\r\n\
         Content-Length: {body_bytes}\r\n{field}\r\n"
    )
    .into_bytes();
    let head_bytes = bytes.len();
    bytes.resize(head_bytes + body_bytes, b'x');
    Answer { bytes, head_bytes }
}

/// One connection's requests.
pub struct FileServer {
    usual: Rc<Answer>,
    last: Rc<Answer>,
    requests: RequestReader,
}

impl Service for FileServer {
    fn answer(&mut self, input: &[u8], output: &mut Vec<u8>) -> Answered {
        let mut at = 0;
        while has_room(output) {
            match self.requests.next(&input[at..]) {
                Found::Request(bytes, request) => {
                    let answer = if request.stays_open { &self.usual } else { &self.last };
                    let end = if request.is_head { answer.head_bytes } else { answer.bytes.len() };
                    output.extend_from_slice(&answer.bytes[..end]);
                    at += bytes;
                    if !request.stays_open {
                        return Answered { bytes: at, then: Then::Close };
                    }
                }
                Found::Part => return Answered { bytes: at, then: Then::Read },
                Found::Refused => {
                    output.extend_from_slice(REFUSAL);
                    return Answered { bytes: at, then: Then::Close };
                }
            }
        }
        Answered { bytes: at, then: Then::GoOn }
    }
}
