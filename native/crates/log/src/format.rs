//! The bytes of a log file, and only here. All numbers are little-endian.
//!
//! | file header, 32 bytes | |
//! |---|---|
//! | 0..8 | `ASSAYLOG` |
//! | 8..12 | format version, 1 |
//! | 12..16 | zero |
//! | 16..24 | identity: differs from log to log |
//! | 24..28 | zero |
//! | 28..32 | CRC32C of bytes 0..28: the first link of the chain |
//!
//! Records follow without gaps. A record is one transaction:
//!
//! | record header, 32 bytes | |
//! |---|---|
//! | 0..4 | `ATXN` |
//! | 4..8 | length of the body |
//! | 8..16 | sequence number: 1, 2, 3, ... |
//! | 16..24 | TID |
//! | 24..28 | CRC32C of the body |
//! | 28..32 | link: CRC32C of this header with the link of the record before in these four bytes |
//!
//! The body is a list of writes: table (2 bytes), kind (1: put, 2: delete), zero, length of the
//! bytes (4), key (8), bytes.
//!
//! Two checksums, because the sequence number is known only under the shared lock: the long one is
//! computed by the worker before, the short one (32 bytes) under the lock. The link chains a record
//! to all before it, so that a whole record left over from an older tail, or of another log, never
//! continues a chain it does not belong to.

use assay_primitives::{Crc32c, Crc32cLevel};

use crate::record::Change;

pub(crate) const FILE_HEADER_BYTES: usize = 32;
pub(crate) const HEADER_BYTES: usize = 32;
pub(crate) const WRITE_BYTES: usize = 16;

const FILE_MAGIC: &[u8; 8] = b"ASSAYLOG";
const RECORD_MAGIC: &[u8; 4] = b"ATXN";
const VERSION: u32 = 1;
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// The record header as it was read.
pub(crate) struct Header {
    pub body_bytes: u32,
    pub sequence: u64,
    pub tid: u64,
    pub body_crc: u32,
    pub link: u32,
}

/// The length of body that the checksum is chosen for: a handful of small rows.
const TYPICAL_BODY_BYTES: usize = 512;

/// The fastest CRC32C of this CPU for a typical record.
pub(crate) fn best_crc() -> Crc32c {
    Crc32c::new(Crc32cLevel::best(TYPICAL_BODY_BYTES))
        .expect("the best level is one that this CPU has")
}

/// The file header of a log with this identity.
pub(crate) fn file_header(identity: u64, crc: &Crc32c) -> [u8; FILE_HEADER_BYTES] {
    let mut bytes = [0; FILE_HEADER_BYTES];
    bytes[0..8].copy_from_slice(FILE_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&identity.to_le_bytes());
    let link = crc.checksum(&bytes[..28]);
    bytes[28..32].copy_from_slice(&link.to_le_bytes());
    bytes
}

/// The first link of the chain, or what is wrong with a file header.
pub(crate) fn first_link(
    bytes: &[u8; FILE_HEADER_BYTES],
    crc: &Crc32c,
) -> Result<u32, &'static str> {
    if &bytes[0..8] != FILE_MAGIC {
        return Err("it does not begin with ASSAYLOG");
    }
    let link = u32_at(bytes, 28);
    if crc.checksum(&bytes[..28]) != link {
        return Err("the checksum of the file header is wrong");
    }
    if u32_at(bytes, 8) != VERSION {
        return Err("the format version is unknown");
    }
    Ok(link)
}

/// Appends one write to a body.
pub(crate) fn push_write(body: &mut Vec<u8>, table: u16, key: u64, change: Change<'_>) {
    let (kind, bytes) = match change {
        Change::Put(bytes) => (PUT, bytes),
        Change::Delete => (DELETE, &[][..]),
    };
    let length = u32::try_from(bytes.len()).expect("the writer limits a record to 1 GiB");
    let mut head = [0; WRITE_BYTES];
    head[0..2].copy_from_slice(&table.to_le_bytes());
    head[2] = kind;
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[8..16].copy_from_slice(&key.to_le_bytes());
    body.extend_from_slice(&head);
    body.extend_from_slice(bytes);
}

/// Splits the first write off a body. `None` when the bytes are no write.
pub(crate) fn split_write(body: &[u8]) -> Option<(u16, u64, Change<'_>, &[u8])> {
    let (head, rest) = body.split_at_checked(WRITE_BYTES)?;
    let (bytes, rest) = rest.split_at_checked(u32_at(head, 4) as usize)?;
    let change = match head[2] {
        PUT => Change::Put(bytes),
        DELETE if bytes.is_empty() => Change::Delete,
        _ => return None,
    };
    let table = u16::from_le_bytes([head[0], head[1]]);
    (head[3] == 0).then_some((table, u64_at(head, 8), change, rest))
}

/// Fills in all of a record's header but what is only known under the lock. `record` is room for
/// the header, then the body.
pub(crate) fn prepare(record: &mut [u8], tid: u64, crc: &Crc32c) {
    let (header, body) = record.split_at_mut(HEADER_BYTES);
    let length = u32::try_from(body.len()).expect("the writer limits a record to 1 GiB");
    header[0..4].copy_from_slice(RECORD_MAGIC);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[16..24].copy_from_slice(&tid.to_le_bytes());
    header[24..28].copy_from_slice(&crc.checksum(body).to_le_bytes());
}

/// Gives a prepared record its place in the chain, and returns its link.
pub(crate) fn seal(record: &mut [u8], sequence: u64, link_before: u32, crc: &Crc32c) -> u32 {
    let header = &mut record[..HEADER_BYTES];
    header[8..16].copy_from_slice(&sequence.to_le_bytes());
    header[28..32].copy_from_slice(&link_before.to_le_bytes());
    let link = crc.checksum(header);
    header[28..32].copy_from_slice(&link.to_le_bytes());
    link
}

/// Reads a record header that must continue a chain. `Err` says why it does not.
pub(crate) fn header(
    bytes: &[u8; HEADER_BYTES],
    sequence: u64,
    link_before: u32,
    crc: &Crc32c,
) -> Result<Header, &'static str> {
    if &bytes[0..4] != RECORD_MAGIC {
        return Err("no record begins here");
    }
    let link = u32_at(bytes, 28);
    let mut chained = *bytes;
    chained[28..32].copy_from_slice(&link_before.to_le_bytes());
    if crc.checksum(&chained) != link {
        return Err("the record's header is damaged or of another chain");
    }
    let header = Header {
        body_bytes: u32_at(bytes, 4),
        sequence: u64_at(bytes, 8),
        tid: u64_at(bytes, 16),
        body_crc: u32_at(bytes, 24),
        link,
    };
    if header.sequence == sequence { Ok(header) } else { Err("the sequence number is wrong") }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
