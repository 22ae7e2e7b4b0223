//! Reading a log from its beginning to the first record that is not whole.
//!
//! Reading never changes the file. The first record whose header does not continue the chain, whose
//! body is cut or whose checksum is wrong ends the log: nothing behind it was acknowledged, unless
//! the medium has changed bytes that were synced. A torn tail and such damage in the middle cannot
//! be told apart here; look at `Recovered::tail` before `Log::append_to` cuts it.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use assay_primitives::Crc32c;

use crate::format::{self, FILE_HEADER_BYTES, HEADER_BYTES};
use crate::group::Position;
use crate::{LogError, Lsn, Record};

const READ_BYTES: usize = 1 << 20;

/// Why a log ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The file ends with its last record.
    Clean,
    /// Zeros follow: space that was preallocated.
    Zeros,
    /// Something else follows, which is not a whole record.
    Torn {
        /// What is wrong with the first record that does not count.
        why: &'static str,
    },
}

/// What recovery found.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Records handed out.
    pub records: u64,
    /// The highest TID among them; 0 without records. New TIDs must be higher.
    pub tid_max: u64,
    /// The length of the valid prefix of the file.
    pub valid_bytes: u64,
    /// The length of the file.
    pub file_bytes: u64,
    /// Why the prefix ends there.
    pub tail: Tail,
    pub(crate) path: PathBuf,
    /// The link in the file header: tells this log from others.
    pub(crate) first_link: u32,
    pub(crate) next: Position,
}

/// Hands out every record of the valid prefix, in log order.
///
/// Log order is not TID order. Two transactions that wrote the same key may stand in either order
/// where the concurrency control gives out TIDs before it calls `Writer::append`; so replay keeps,
/// per key, the write with the highest TID (deletes included: remember the TID of a deleted key
/// until the end). Within one record the last write of a key counts.
///
/// # Errors
/// `Os` when the file cannot be read, `NotALog` when it does not begin as a log does. An empty file
/// is an empty log: its creator was killed early.
pub fn recover(
    path: impl AsRef<Path>,
    replay: &mut dyn FnMut(Record<'_>),
) -> Result<Recovered, LogError> {
    let path = path.as_ref();
    let os = |call| move |error| LogError::os(path, call, error);
    let file = File::open(path).map_err(os("open for recovery"))?;
    let file_bytes = file.metadata().map_err(os("read the length"))?.len();
    let crc = format::best_crc();
    let mut recovered = Recovered {
        records: 0,
        tid_max: 0,
        valid_bytes: 0,
        file_bytes,
        tail: Tail::Clean,
        path: path.to_owned(),
        first_link: 0,
        next: Position { offset: 0, sequence: 1, link: 0 },
    };
    if file_bytes == 0 {
        return Ok(recovered);
    }
    let mut input = BufReader::with_capacity(READ_BYTES, file);
    recovered.first_link = read_first_link(&mut input, path, &crc)?;
    recovered.next.link = recovered.first_link;
    recovered.next.offset = FILE_HEADER_BYTES as u64;
    let mut body = Vec::new();
    recovered.tail = loop {
        match read_record(&mut input, &recovered, &crc, &mut body) {
            Ok(Step::Record { header, end }) => {
                let record = Record::new(header.sequence, header.tid, Lsn(end), &body);
                let Some(record) = record else {
                    break Tail::Torn { why: "the record's body is no list of writes" };
                };
                replay(record);
                recovered.records += 1;
                recovered.tid_max = recovered.tid_max.max(header.tid);
                recovered.next =
                    Position { offset: end, sequence: header.sequence + 1, link: header.link };
            }
            Ok(Step::End(tail)) => break tail,
            Err(error) => return Err(LogError::os(path, "read", error)),
        }
    };
    recovered.valid_bytes = recovered.next.offset;
    Ok(recovered)
}

/// Reads the file header. `NotALog` when it is none.
pub(crate) fn read_first_link(
    input: &mut impl Read,
    path: &Path,
    crc: &Crc32c,
) -> Result<u32, LogError> {
    let not_a_log = |what| LogError::NotALog { path: path.to_owned(), what };
    let mut bytes = [0; FILE_HEADER_BYTES];
    match input.read_exact(&mut bytes) {
        Ok(()) => format::first_link(&bytes, crc).map_err(not_a_log),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(not_a_log("it is shorter than a file header"))
        }
        Err(error) => Err(LogError::os(path, "read", error)),
    }
}

enum Step {
    Record { header: format::Header, end: u64 },
    End(Tail),
}

fn read_record(
    input: &mut impl Read,
    so_far: &Recovered,
    crc: &Crc32c,
    body: &mut Vec<u8>,
) -> std::io::Result<Step> {
    let torn = |why| Ok(Step::End(Tail::Torn { why }));
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    input.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(Step::End(Tail::Clean));
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(Step::End(rest_is_zero(input)?));
    }
    let Ok(bytes) = <[u8; HEADER_BYTES]>::try_from(bytes) else {
        return torn("the record's header is cut");
    };
    let header = match format::header(&bytes, so_far.next.sequence, so_far.next.link, crc) {
        Ok(header) => header,
        Err(why) => return torn(why),
    };
    let end = so_far.next.offset + HEADER_BYTES as u64 + u64::from(header.body_bytes);
    if end > so_far.file_bytes {
        return torn("the record's body is cut");
    }
    body.clear();
    input.take(u64::from(header.body_bytes)).read_to_end(body)?;
    if body.len() != header.body_bytes as usize {
        return torn("the record's body is cut");
    }
    if crc.checksum(body) != header.body_crc {
        return torn("the record's body is damaged");
    }
    Ok(Step::Record { header, end })
}

fn rest_is_zero(input: &mut impl Read) -> std::io::Result<Tail> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(Tail::Zeros),
            Ok(length) if buffer[..length].iter().any(|&byte| byte != 0) => {
                return Ok(Tail::Torn { why: "zeros, and then something else" });
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
