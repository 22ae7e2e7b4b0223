//! Looking at the records that come back: each must be one of this workload.

use assay_workload::values::is_whole;
use assay_workload::{KeyText, Parameters};

use crate::StoreError;

/// What every record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Fields in a record.
    pub fields: usize,
    /// Bytes in a field.
    pub field_bytes: usize,
}

impl Shape {
    /// The records of a workload.
    pub fn of(parameters: &Parameters) -> Self {
        Self { fields: parameters.fields, field_bytes: parameters.field_bytes }
    }
}

/// Sums over keys: two sets of the same size with the same sums are the same set, but for a chance
/// of one in 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeySums {
    /// How many keys.
    pub count: u64,
    sum: u64,
    squares: u64,
}

impl KeySums {
    /// Adds a key.
    pub fn add(&mut self, key: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(key);
        self.squares = self.squares.wrapping_add(key.wrapping_mul(key));
    }
}

/// Is shown the records of one answer.
pub trait Visitor {
    /// A record comes, by its key.
    fn begin(&mut self, key: &[u8]);

    /// The next field of the record.
    fn field(&mut self, value: &[u8]);

    /// The record is over; false if its bytes could not be read to their end.
    fn end(&mut self, is_readable: bool);
}

/// Looks at the records of one answer, and remembers the first that is wrong.
#[derive(Debug)]
pub struct Look {
    shape: Shape,
    /// The key of the first record, where there must be one.
    first: Option<KeyText>,
    keys: KeySums,
    last: Vec<u8>,
    fields: usize,
    wrong: Option<(String, String)>,
}

impl Look {
    /// At records from the one with this key on.
    pub fn from(shape: Shape, first: KeyText) -> Self {
        Self { first: Some(first), ..Self::through(shape) }
    }

    /// At all records there are.
    pub fn through(shape: Shape) -> Self {
        let keys = KeySums::default();
        Self { shape, first: None, keys, last: Vec::new(), fields: 0, wrong: None }
    }

    /// The keys that came.
    pub fn keys(&self) -> KeySums {
        self.keys
    }

    /// The number of records, if all were right.
    ///
    /// # Errors
    /// `Wrong` for the first that was not; `Missing` when one was asked for and none came.
    pub fn finish(self) -> Result<u64, StoreError> {
        if let Some((key, what)) = self.wrong {
            return Err(StoreError::Wrong { key, what });
        }
        match self.first {
            Some(first) if self.keys.count == 0 => {
                Err(StoreError::Missing { key: first.to_string() })
            }
            _ => Ok(self.keys.count),
        }
    }

    #[cold]
    fn wrong(&mut self, key: String, what: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            self.wrong = Some((key, what()));
        }
    }
}

impl Visitor for Look {
    fn begin(&mut self, key: &[u8]) {
        self.fields = 0;
        if self.keys.count == 0
            && let Some(first) = &self.first
            && first.as_bytes() != key
        {
            let came = String::from_utf8_lossy(key).into_owned();
            self.wrong(first.to_string(), || format!("{came} came back instead of it"));
        }
        if self.keys.count > 0 && self.last.as_slice() >= key {
            let last = String::from_utf8_lossy(&self.last).into_owned();
            self.wrong(text(key), || format!("it came back after {last}"));
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        match KeyText::parse(key) {
            Some(number) => self.keys.add(number),
            None => {
                self.keys.count += 1;
                self.wrong(text(key), || "that is no key of this workload".to_owned());
            }
        }
    }

    fn field(&mut self, value: &[u8]) {
        let field = self.fields;
        self.fields += 1;
        let bytes = self.shape.field_bytes;
        if value.len() != bytes || !is_whole(value) {
            self.wrong(text(&self.last), || {
                format!("field {field} is no whole value of {bytes} bytes ({} came)", value.len())
            });
        }
    }

    fn end(&mut self, is_readable: bool) {
        let (found, wanted) = (self.fields, self.shape.fields);
        if !is_readable {
            self.wrong(text(&self.last), || "its value is cut short".to_owned());
        } else if found != wanted {
            self.wrong(text(&self.last), || format!("{found} fields instead of {wanted}"));
        }
    }
}

fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

#[cfg(test)]
mod tests {
    use assay_workload::Values;

    use super::*;

    const SHAPE: Shape = Shape { fields: 2, field_bytes: 20 };

    fn record(look: &mut Look, key: &[u8], values: &[&[u8]]) {
        look.begin(key);
        values.iter().for_each(|value| look.field(value));
        look.end(true);
    }

    fn fault(first: u64, come: impl FnOnce(&mut Look, &[u8])) -> String {
        let values = Values::new(1, SHAPE.field_bytes);
        let mut look = Look::from(SHAPE, KeyText::new(first));
        come(&mut look, values.value(0));
        look.finish().unwrap_err().to_string()
    }

    #[test]
    fn whole_records_in_order_are_right() {
        let values = Values::new(1, SHAPE.field_bytes);
        let mut look = Look::from(SHAPE, KeyText::new(1));
        for key in [b"user1", b"user2"] {
            record(&mut look, key, &[values.value(0), values.value(1)]);
        }
        assert_eq!(look.finish(), Ok(2));
    }

    #[test]
    fn whatever_is_wrong_with_a_record_is_told() {
        assert!(fault(1, |_, _| ()).contains("no record user1"));
        assert!(
            fault(1, |look, value| record(look, b"user2", &[value; 2])).contains("user2 came back")
        );
        assert!(fault(1, |look, value| record(look, b"user1", &[value])).contains("1 fields"));
        assert!(
            fault(1, |look, value| record(look, b"user1", &[value, b"short"])).contains("field 1")
        );
        let torn = |look: &mut Look, value: &[u8]| {
            let mut torn = value.to_vec();
            torn[0] = torn[0].wrapping_add(1);
            record(look, b"user1", &[&torn, value]);
        };
        assert!(fault(1, torn).contains("field 0"));
        let cut = |look: &mut Look, _: &[u8]| {
            look.begin(b"user1");
            look.end(false);
        };
        assert!(fault(1, cut).contains("cut short"));
        let back = |look: &mut Look, value: &[u8]| {
            ["user5", "user4"].iter().for_each(|key| record(look, key.as_bytes(), &[value; 2]));
        };
        assert!(fault(5, back).contains("after user5"));
    }

    #[test]
    fn sums_tell_sets_of_the_same_size_apart() {
        let sums = |keys: &[u64]| {
            let mut sums = KeySums::default();
            keys.iter().for_each(|key| sums.add(*key));
            sums
        };
        assert_eq!(sums(&[1, 2, 3]), sums(&[3, 1, 2]));
        assert_ne!(sums(&[1, 4]), sums(&[2, 3]));
        assert_ne!(sums(&[1, 2]), sums(&[1, 2, 0]));
    }
}
