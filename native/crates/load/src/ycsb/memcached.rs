//! YCSB on memcached: a record is one value, its fields one after the other.
//!
//! memcached has no fields, so that an update cannot write one of them. It writes all, each with a
//! value of its own, as YCSB does everywhere with `writeallfields=true`, in one `set` and without
//! reading before; a read-modify-write is one `get` and one such `set`. An insert is a `set` too, so
//! that a run may follow another over the same data. Not as YCSB's memcached binding: it writes
//! JSON, and its update leaves only the field that it wrote. There are no scans: keys have no order.
//!
//! Every record that comes back is checked. One that is not there has been evicted, or was never
//! made.

use assay_wire::memcached::Session;
use assay_wire::memcached::codec::{Batch, Item, Reply};
use assay_workload::values::is_whole;
use assay_workload::{KeyText, Operation, OperationKind, Values};

use super::{Records, Shape, YcsbError};
use crate::key_value::KeyValue;

/// Appends what writes a record of these fields.
fn write<'v>(key: u64, fields: impl Iterator<Item = &'v [u8]>, shape: Shape, batch: &mut Batch) {
    batch.set_parts(KeyText::new(key).as_bytes(), shape.fields * shape.field_bytes, fields);
}

/// Appends what writes all fields of a record anew; one reply.
pub fn update(operation: &Operation, shape: Shape, values: &Values, batch: &mut Batch) {
    let first = usize::from(operation.value);
    let fields = (0..shape.fields).map(|field| values.value((first + field) % values.count()));
    write(operation.key, fields, shape, batch);
}

impl Records for Session {
    fn insert(key: u64, shape: Shape, values: &Values, batch: &mut Batch) {
        let fields = (0..shape.fields).map(|field| values.initial(key, field));
        write(key, fields, shape, batch);
    }

    async fn carry_out(
        &mut self,
        operation: &Operation,
        shape: Shape,
        values: &Values,
        batch: &mut Batch,
    ) -> Result<(), YcsbError> {
        batch.clear();
        match operation.kind {
            OperationKind::Read => return read(self, operation.key, shape, batch).await,
            OperationKind::Scan => return Err(YcsbError::Unsupported { operation: "scan" }),
            OperationKind::Insert => Self::insert(operation.key, shape, values, batch),
            OperationKind::Update => update(operation, shape, values, batch),
            OperationKind::ReadModifyWrite => {
                read(self, operation.key, shape, batch).await?;
                batch.clear();
                update(operation, shape, values, batch);
            }
        }
        Ok(KeyValue::exchange(self, batch).await?)
    }
}

async fn read(
    session: &mut Session,
    key: u64,
    shape: Shape,
    batch: &mut Batch,
) -> Result<(), YcsbError> {
    let key = KeyText::new(key);
    batch.get(key.as_bytes());
    let mut looked = Ok(());
    let visit = |reply: &Reply<'_>| {
        looked = look(reply, key, shape);
        Ok(())
    };
    session.run(batch, visit).await?;
    looked
}

/// Checks the reply to a `get` of one record.
fn look(reply: &Reply<'_>, key: KeyText, shape: Shape) -> Result<(), YcsbError> {
    let wrong = |what: String| YcsbError::Wrong { key: key.to_string(), what };
    let Reply::Items(mut items) = *reply else {
        return Err(wrong(format!("{reply:?} is no answer to get")));
    };
    let Some(item) = items.next() else {
        return Err(YcsbError::Missing { key: key.to_string() });
    };
    let Item::Value { key: found, data, .. } = item else {
        return Err(wrong("a counter came back".to_owned()));
    };
    if found != key.as_bytes() || items.next().is_some() {
        return Err(wrong("another key came back".to_owned()));
    }
    let bytes = shape.fields * shape.field_bytes;
    if data.len() != bytes {
        return Err(wrong(format!("{} bytes instead of {bytes}", data.len())));
    }
    match data.chunks_exact(shape.field_bytes).position(|field| !is_whole(field)) {
        Some(field) => Err(wrong(format!("field {field} is no whole value"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use assay_wire::memcached::codec::decode;

    use super::*;

    const SHAPE: Shape = Shape { fields: 2, field_bytes: 20 };

    fn looked(text: &[u8]) -> Result<(), String> {
        let (_, reply) = decode(text).expect("a reply").expect("a whole one");
        look(&reply, KeyText::new(7), SHAPE).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_the_whole_record_that_was_asked_for() {
        let values = Values::new(1, SHAPE.field_bytes);
        let answer = |key: &str, data: &[u8]| {
            let line = format!("VALUE {key} 0 {}\r\n", data.len());
            [line.as_bytes(), data, b"\r\nEND\r\n"].concat()
        };
        let whole = [values.value(0), values.value(1)].concat();
        let torn = [values.value(0), &values.value(1)[..10], &values.value(2)[10..]].concat();
        assert_eq!(looked(&answer("user7", &whole)), Ok(()));
        for (text, why) in [
            (&b"END\r\n"[..], "there is no record user7"),
            (b"STORED\r\n", "no answer to get"),
            (b"STAT pid 1\r\nEND\r\n", "a counter came back"),
            (&answer("user8", &whole), "another key came back"),
            (&answer("user7", &whole[1..]), "39 bytes instead of 40"),
            (&answer("user7", &torn), "field 1 is no whole value"),
        ] {
            assert!(looked(text).is_err_and(|error| error.contains(why)), "{why}");
        }
    }
}
