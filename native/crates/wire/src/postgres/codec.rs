//! What servers send: bytes in, messages out.
//!
//! A message is a type byte, a length of four bytes that counts itself and the body, and the body;
//! all numbers are big-endian. Messages borrow from the input: nothing is copied or allocated, but
//! for errors.

use super::reader::Reader;
use super::report::Report;
use super::rows::{Description, Fields};
use super::wrong;
use crate::WireError;

/// Bytes of a type and a length.
const HEADER_BYTES: usize = 5;
/// The largest length that is believed. A server can make one of 1 GiB, which each of many
/// connections would hold; no load asks for more than a few MiB.
const LENGTH_MAX: usize = 64 << 20;

/// One message of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message<'m> {
    /// What the server wants in order to believe who we are.
    Authentication(Authentication<'m>),
    /// A setting of the session and its value.
    ParameterStatus {
        /// The setting.
        name: &'m [u8],
        /// Its value.
        value: &'m [u8],
    },
    /// What a cancel request would have to name.
    BackendKeyData {
        /// The server's process.
        process: i32,
        /// The secret.
        secret: &'m [u8],
    },
    /// The server waits for the next request.
    ReadyForQuery(TransactionState),
    /// The types of a statement's parameters, by object identifier; four bytes each.
    ParameterDescription(&'m [u8]),
    /// The columns of the rows that come.
    RowDescription(Description<'m>),
    /// A row.
    DataRow(Fields<'m>),
    /// A statement was run.
    CommandComplete {
        /// The command tag, such as `INSERT 0 1`.
        tag: &'m [u8],
    },
    /// A statement without words was run.
    EmptyQuery,
    /// An error.
    Error(Report<'m>),
    /// A warning or less.
    Notice(Report<'m>),
    /// `Parse` was done.
    ParseComplete,
    /// `Bind` was done.
    BindComplete,
    /// `Close` was done.
    CloseComplete,
    /// The statement returns no rows.
    NoData,
    /// `Execute` came to its limit of rows.
    PortalSuspended,
    /// Somebody's NOTIFY.
    Notification {
        /// The server's process of who notifies.
        process: i32,
        /// The channel.
        channel: &'m [u8],
        /// The text.
        payload: &'m [u8],
    },
    /// The server waits for COPY data.
    CopyIn,
    /// The server is going to send COPY data.
    CopyOut,
    /// Both, as in replication.
    CopyBoth,
    /// COPY data.
    CopyData(&'m [u8]),
    /// The end of COPY data.
    CopyDone,
    /// The server knows no newer minor version of the protocol, or not all options asked for.
    NegotiateProtocolVersion {
        /// The newest version that it knows.
        newest: i32,
        /// How many options it does not know.
        options: u32,
    },
}

/// What a server may ask for at login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'m> {
    /// Nothing more: logged in.
    Ok,
    /// Kerberos version 5.
    Kerberos,
    /// The password as it is.
    Cleartext,
    /// The password, hashed with this salt.
    Md5 {
        /// The salt.
        salt: [u8; 4],
    },
    /// SCM credentials.
    ScmCredential,
    /// GSSAPI.
    Gss,
    /// More data of GSSAPI or SSPI.
    GssContinue(&'m [u8]),
    /// SSPI.
    Sspi,
    /// SASL; the mechanisms that the server knows, each ended by a zero byte.
    Sasl(&'m [u8]),
    /// A challenge of SASL.
    SaslContinue(&'m [u8]),
    /// The server's last words of SASL.
    SaslFinal(&'m [u8]),
    /// A kind that this code does not know.
    Unknown(i32),
}

/// Where a session stands, as the server says after each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// Not in a transaction.
    Idle,
    /// In a transaction.
    InTransaction,
    /// In a transaction that has failed: anything but its end is an error.
    Failed,
}

/// Takes one message from the start of the input: its bytes, and what it is; none while it is
/// incomplete.
///
/// # Errors
/// `Protocol` when this is no message of a server. Nothing can be read after that.
#[inline]
pub fn next(input: &[u8]) -> Result<Option<(usize, Message<'_>)>, WireError> {
    let Some((&[kind, a, b, c, d], rest)) = input.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=LENGTH_MAX).contains(&length) || !is_known(kind) {
        return Err(no_header(kind, length));
    }
    let Some(body) = rest.get(..length - 4) else { return Ok(None) };
    // The rows of an answer and what frames them, first.
    let message = match kind {
        b'D' => Message::DataRow(Fields::decode(body)?),
        b'2' => bare(body, "BindComplete", Message::BindComplete)?,
        b'C' => command_complete(body)?,
        b'Z' => Message::ReadyForQuery(transaction_state(body)?),
        _ => rare(kind, body)?,
    };
    Ok(Some((length + 1, message)))
}

/// The types of messages that a server may send.
fn is_known(kind: u8) -> bool {
    matches!(
        kind,
        b'1'..=b'3'
            | b'A'
            | b'C'..=b'E'
            | b'G'
            | b'H'
            | b'I'
            | b'K'
            | b'N'
            | b'R'..=b'T'
            | b'W'
            | b'Z'
            | b'c'
            | b'd'
            | b'n'
            | b's'
            | b't'
            | b'v'
    )
}

#[cold]
fn no_header(kind: u8, length: usize) -> WireError {
    let kind = char::from(kind).escape_default();
    wrong(format!(
        "a message of type '{kind}' and length {length}, of {LENGTH_MAX} at most; is this a \
         PostgreSQL server?"
    ))
}

/// A message without a body.
#[inline]
fn bare<'m>(
    body: &[u8],
    name: &'static str,
    message: Message<'m>,
) -> Result<Message<'m>, WireError> {
    Reader::new(body, name).end()?;
    Ok(message)
}

#[inline]
fn transaction_state(body: &[u8]) -> Result<TransactionState, WireError> {
    match body {
        b"I" => Ok(TransactionState::Idle),
        b"T" => Ok(TransactionState::InTransaction),
        b"E" => Ok(TransactionState::Failed),
        _ => Err(wrong("a ReadyForQuery message without a known state")),
    }
}

#[inline]
fn command_complete(body: &[u8]) -> Result<Message<'_>, WireError> {
    match body.split_last() {
        Some((0, tag)) => Ok(Message::CommandComplete { tag }),
        _ => Err(wrong("a CommandComplete message without an end")),
    }
}

fn rare(kind: u8, body: &[u8]) -> Result<Message<'_>, WireError> {
    match kind {
        b'1' => bare(body, "ParseComplete", Message::ParseComplete),
        b'3' => bare(body, "CloseComplete", Message::CloseComplete),
        b'A' => notification(body),
        b'E' => Report::decode(body).map(Message::Error),
        b'G' => copy_response(body, Message::CopyIn),
        b'H' => copy_response(body, Message::CopyOut),
        b'I' => bare(body, "EmptyQueryResponse", Message::EmptyQuery),
        b'K' => backend_key(body),
        b'N' => Report::decode(body).map(Message::Notice),
        b'R' => authentication(body).map(Message::Authentication),
        b'S' => parameter_status(body),
        b'T' => Description::decode(body).map(Message::RowDescription),
        b'W' => copy_response(body, Message::CopyBoth),
        b'c' => bare(body, "CopyDone", Message::CopyDone),
        b'd' => Ok(Message::CopyData(body)),
        b'n' => bare(body, "NoData", Message::NoData),
        b's' => bare(body, "PortalSuspended", Message::PortalSuspended),
        b't' => parameter_description(body),
        b'v' => negotiate(body),
        kind => Err(no_header(kind, body.len() + 4)),
    }
}

fn notification(body: &[u8]) -> Result<Message<'_>, WireError> {
    let mut reader = Reader::new(body, "NotificationResponse");
    let process = reader.i32()?;
    let (channel, payload) = (reader.text()?, reader.text()?);
    reader.end()?;
    Ok(Message::Notification { process, channel, payload })
}

/// The format of the whole, and of each column, which we do not need.
fn copy_response<'m>(body: &'m [u8], message: Message<'m>) -> Result<Message<'m>, WireError> {
    let mut reader = Reader::new(body, "CopyResponse");
    reader.u8()?;
    let columns = reader.u16()?;
    reader.bytes(usize::from(columns) * 2)?;
    reader.end()?;
    Ok(message)
}

fn backend_key(body: &[u8]) -> Result<Message<'_>, WireError> {
    let mut reader = Reader::new(body, "BackendKeyData");
    let process = reader.i32()?;
    Ok(Message::BackendKeyData { process, secret: reader.rest() })
}

fn parameter_status(body: &[u8]) -> Result<Message<'_>, WireError> {
    let mut reader = Reader::new(body, "ParameterStatus");
    let (name, value) = (reader.text()?, reader.text()?);
    reader.end()?;
    Ok(Message::ParameterStatus { name, value })
}

fn parameter_description(body: &[u8]) -> Result<Message<'_>, WireError> {
    let mut reader = Reader::new(body, "ParameterDescription");
    let count = reader.u16()?;
    let types = reader.bytes(usize::from(count) * 4)?;
    reader.end()?;
    Ok(Message::ParameterDescription(types))
}

fn negotiate(body: &[u8]) -> Result<Message<'_>, WireError> {
    let mut reader = Reader::new(body, "NegotiateProtocolVersion");
    let (newest, options) = (reader.i32()?, reader.u32()?);
    // Each has at least its zero byte, so that a false count ends with the body.
    for _ in 0..options {
        reader.text()?;
    }
    reader.end()?;
    Ok(Message::NegotiateProtocolVersion { newest, options })
}

fn authentication(body: &[u8]) -> Result<Authentication<'_>, WireError> {
    let mut reader = Reader::new(body, "Authentication");
    let kind = reader.i32()?;
    let rest = reader.rest();
    let asked = match kind {
        0 => Authentication::Ok,
        2 => Authentication::Kerberos,
        3 => Authentication::Cleartext,
        5 => {
            let [a, b, c, d] = *rest else { return Err(wrong("an MD5 salt that is not 4 bytes")) };
            return Ok(Authentication::Md5 { salt: [a, b, c, d] });
        }
        6 => Authentication::ScmCredential,
        7 => Authentication::Gss,
        8 => return Ok(Authentication::GssContinue(rest)),
        9 => Authentication::Sspi,
        10 => return Ok(Authentication::Sasl(rest)),
        11 => return Ok(Authentication::SaslContinue(rest)),
        12 => return Ok(Authentication::SaslFinal(rest)),
        // Its data is its own matter.
        kind => return Ok(Authentication::Unknown(kind)),
    };
    reader.end()?;
    Ok(asked)
}

/// The number at the end of a command tag; zero if there is none.
pub fn rows_of_tag(tag: &[u8]) -> u64 {
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    // More digits than a count of rows can have wrap around: a tag is information.
    tag[tag.len() - digits..]
        .iter()
        .fold(0, |rows: u64, digit| rows.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}
