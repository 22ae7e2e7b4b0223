//! A record as one value, as a store of keys and values without columns must keep it: for each field
//! in order its length as four bytes, low byte first, and its bytes.

use std::ops::Range;

use assay_workload::Values;

use crate::{Shape, Visitor};

const LENGTH: usize = size_of::<u32>();

/// Writes a record with its initial values.
pub fn encode(key: u64, shape: Shape, values: &Values, out: &mut Vec<u8>) {
    out.clear();
    for field in 0..shape.fields {
        push(values.initial(key, field), out);
    }
}

fn push(value: &[u8], out: &mut Vec<u8>) {
    // A field has 16,384 bytes at most.
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

/// Shows the fields of a record, as far as they can be read.
pub fn show(key: &[u8], value: &[u8], visitor: &mut dyn Visitor) {
    visitor.begin(key);
    let mut at = 0;
    while let Some(field) = next(value, at) {
        at = field.end;
        visitor.field(&value[field]);
    }
    visitor.end(at == value.len());
}

/// Writes one field of a record in its place; false if it has none such.
pub fn replace(record: &mut Vec<u8>, field: usize, value: &[u8]) -> bool {
    let mut at = 0;
    for _ in 0..field {
        let Some(passed) = next(record, at) else { return false };
        at = passed.end;
    }
    let Some(found) = next(record, at) else { return false };
    if found.len() == value.len() {
        record[found].copy_from_slice(value);
    } else {
        let mut one = Vec::with_capacity(LENGTH + value.len());
        push(value, &mut one);
        record.splice(at..found.end, one);
    }
    true
}

/// The bytes of the field whose length is at a place; none at the end, or where they are cut short.
fn next(record: &[u8], at: usize) -> Option<Range<usize>> {
    let length = record.get(at..)?.first_chunk::<LENGTH>()?;
    let start = at + LENGTH;
    let field = start..start.checked_add(u32::from_le_bytes(*length) as usize)?;
    (field.end <= record.len()).then_some(field)
}

#[cfg(test)]
mod tests {
    use assay_workload::KeyText;

    use super::*;
    use crate::Look;

    const SHAPE: Shape = Shape { fields: 3, field_bytes: 20 };

    fn is_right(value: &[u8]) -> bool {
        let mut look = Look::from(SHAPE, KeyText::new(7));
        show(KeyText::new(7).as_bytes(), value, &mut look);
        look.finish().is_ok()
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_no_shorter_or_longer() {
        let values = Values::new(1, SHAPE.field_bytes);
        let mut record = Vec::new();
        encode(7, SHAPE, &values, &mut record);
        assert_eq!(record.len(), 3 * 24);
        assert!(is_right(&record));
        for length in 0..record.len() {
            assert!(!is_right(&record[..length]), "{length}");
        }
        record.push(0);
        assert!(!is_right(&record));
    }

    #[test]
    fn one_field_is_replaced_and_the_others_stay() {
        let values = Values::new(1, SHAPE.field_bytes);
        let mut record = Vec::new();
        encode(7, SHAPE, &values, &mut record);
        let before = record.clone();
        assert!(replace(&mut record, 1, values.value(5)));
        assert_eq!((&record[..28], &record[28..48]), (&before[..28], values.value(5)));
        assert_eq!(record[48..], before[48..]);
        assert!(is_right(&record));
        assert!(!replace(&mut record, 3, values.value(5)));
    }

    #[test]
    fn a_field_of_another_length_moves_what_follows() {
        let mut record = Vec::new();
        [&b"one"[..], b"two"].iter().for_each(|value| push(value, &mut record));
        assert!(replace(&mut record, 0, b"longer"));
        assert_eq!(record, b"\x06\0\0\0longer\x03\0\0\0two");
    }

    #[test]
    fn a_length_that_lies_is_not_followed() {
        let mut record = u32::MAX.to_le_bytes().to_vec();
        assert!(!is_right(&record));
        assert!(!replace(&mut record, 0, b"x"));
    }
}
