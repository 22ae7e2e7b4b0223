//! YCSB as RESP commands: a hash per record.
//!
//! As YCSB's Redis binding: HGETALL reads a record, HSET writes fields (the binding's HMSET, which
//! Redis calls deprecated, with the same effect). Not as the binding: it keeps the keys in a sorted
//! set beside the records, to scan them in the order of a hash, which costs every insert a second
//! command; here there is no such set, and a scan is refused.

use std::io::Write;

use assay_wire::resp::Session;
use assay_workload::{Operation, OperationKind, Values};

use super::{KeyText, Records, Shape, YcsbError};
use crate::key_value::{KeyValue, Pipeline};

impl Records for Session {
    fn insert(key: u64, shape: Shape, values: &Values, batch: &mut Pipeline) {
        insert(key, shape.fields, values, &mut batch.bytes);
        batch.commands += 1;
    }

    async fn carry_out(
        &mut self,
        operation: &Operation,
        shape: Shape,
        values: &Values,
        batch: &mut Pipeline,
    ) -> Result<(), YcsbError> {
        Self::clear(batch);
        batch.commands = 1;
        if operation.kind == OperationKind::ReadModifyWrite {
            read(operation.key, &mut batch.bytes);
            KeyValue::exchange(self, batch).await?;
            batch.bytes.clear();
            let (field, value) = (operation.field.into(), values.value(operation.value.into()));
            update(operation.key, field, value, &mut batch.bytes);
        } else {
            encode(operation, shape.fields, values, &mut batch.bytes)?;
        }
        Ok(KeyValue::exchange(self, batch).await?)
    }
}

/// Appends what reads a record; one reply, an array (or map) of twice the fields, empty if there is
/// no such record.
pub fn read(key: u64, out: &mut Vec<u8>) {
    array(2, out);
    bulk(b"HGETALL", out);
    bulk(KeyText::new(key).as_bytes(), out);
}

/// Appends what writes one field; one reply, an integer: 0, since the field was there.
pub fn update(key: u64, field: usize, value: &[u8], out: &mut Vec<u8>) {
    array(4, out);
    bulk(b"HSET", out);
    bulk(KeyText::new(key).as_bytes(), out);
    self::field(field, value, out);
}

/// Appends what adds a record with its initial values; one reply, an integer: the number of fields.
pub fn insert(key: u64, fields: usize, values: &Values, out: &mut Vec<u8>) {
    array(2 + 2 * fields, out);
    bulk(b"HSET", out);
    bulk(KeyText::new(key).as_bytes(), out);
    for index in 0..fields {
        field(index, values.initial(key, index), out);
    }
}

/// Appends the commands of an operation and returns the number of replies. The two commands of a
/// read-modify-write go out together here; whoever wants the write to wait for the read, as YCSB
/// does, calls [`read`] and then [`update`]. Inserts are acknowledged to the stream by the caller,
/// once they are answered.
///
/// # Errors
/// `Unsupported` for scans; nothing is appended.
pub fn encode(
    operation: &Operation,
    fields: usize,
    values: &Values,
    out: &mut Vec<u8>,
) -> Result<usize, YcsbError> {
    let key = operation.key;
    let value = values.value(usize::from(operation.value));
    match operation.kind {
        OperationKind::Read => read(key, out),
        OperationKind::Update => update(key, usize::from(operation.field), value, out),
        OperationKind::Insert => insert(key, fields, values, out),
        OperationKind::Scan => return Err(YcsbError::Unsupported { operation: "scan" }),
        OperationKind::ReadModifyWrite => {
            read(key, out);
            update(key, usize::from(operation.field), value, out);
            return Ok(2);
        }
    }
    Ok(1)
}

fn field(index: usize, value: &[u8], out: &mut Vec<u8>) {
    let length = "field".len() + index.checked_ilog10().unwrap_or(0) as usize + 1;
    // Writing to a Vec cannot fail.
    let _ = write!(out, "${length}\r\nfield{index}\r\n");
    bulk(value, out);
}

fn array(length: usize, out: &mut Vec<u8>) {
    let _ = write!(out, "*{length}\r\n");
}

fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    let _ = write!(out, "${}\r\n", bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}
