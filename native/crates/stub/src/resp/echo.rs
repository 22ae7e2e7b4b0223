//! One answer to every command, pipelined or not: `+OK` or a bulk of a fixed size. `PING` is
//! answered `+PONG`, and `HELLO` with the error of a server that speaks RESP2 only.

use std::rc::Rc;

use assay_runtime::{Handle, Listener, RuntimeError};
use assay_wire::resp::codec::{Scanner, Step, bulk};

use crate::serve::{self, Answered, Service, Then, has_room};

/// The longest command that is read, in bytes.
const COMMAND_MAX: usize = 64 * 1024 * 1024;

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `+OK`.
    Ok,
    /// A bulk of so many bytes.
    Bulk(usize),
}

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The answer to every command but `PING` and `HELLO`.
    pub answer: Answer,
}

/// Serves until the worker stops, or no more connections can be accepted.
pub async fn serve(handle: Handle, listener: Listener, options: Options) -> RuntimeError {
    let service = service(options);
    serve::accept(handle, listener, service, None).await
}

/// Makes what attends to a connection.
pub fn service(options: Options) -> impl Fn() -> Echo {
    let answer: Rc<[u8]> = match options.answer {
        Answer::Ok => Rc::from(&b"+OK\r\n"[..]),
        Answer::Bulk(bytes) => {
            let mut answer = Vec::new();
            bulk(&mut answer, &vec![b'x'; bytes]);
            answer.into()
        }
    };
    move || Echo { answer: Rc::clone(&answer), scanner: Scanner::default() }
}

/// One connection's commands.
pub struct Echo {
    answer: Rc<[u8]>,
    scanner: Scanner,
}

impl Service for Echo {
    fn answer(&mut self, input: &[u8], output: &mut Vec<u8>) -> Answered {
        let mut at = 0;
        while has_room(output) {
            let rest = &input[at..];
            // A command is written as the reply that is an array of its parts.
            let step = match rest.first() {
                None => Ok(Step::More),
                Some(b'*') => self.scanner.next(rest).map_err(drop),
                Some(_) => Err(()),
            };
            match step {
                Ok(Step::End { bytes, .. }) => {
                    output.extend_from_slice(answer_to(name(&rest[..bytes]), &self.answer));
                    at += bytes;
                }
                Ok(Step::More) if rest.len() < COMMAND_MAX => {
                    return Answered { bytes: at, then: Then::Read };
                }
                Ok(Step::More) | Err(()) => {
                    output.extend_from_slice(b"-ERR Protocol error\r\n");
                    return Answered { bytes: at, then: Then::Close };
                }
            }
        }
        Answered { bytes: at, then: Then::GoOn }
    }
}

fn answer_to<'a>(name: &[u8], usual: &'a [u8]) -> &'a [u8] {
    match name.len() {
        4 if name.eq_ignore_ascii_case(b"PING") => b"+PONG\r\n",
        5 if name.eq_ignore_ascii_case(b"HELLO") => b"-ERR unknown command 'HELLO'\r\n",
        _ => usual,
    }
}

/// The first part of a command: the third line of `*1`, `$4`, `PING`.
fn name(command: &[u8]) -> &[u8] {
    let mut lines = command.splitn(4, |byte| *byte == b'\n');
    let name = lines.nth(2).unwrap_or_default();
    name.strip_suffix(b"\r").unwrap_or(name)
}
