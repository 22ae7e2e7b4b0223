//! Rows: what describes them, what they are on the wire, and how a session reads them.

use std::cell::Cell;

use super::messages::oid;
use super::reader::Reader;
use super::wrong;
use crate::WireError;
use crate::sql;

/// The columns of the rows of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description<'m> {
    count: u16,
    columns: &'m [u8],
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDescription<'m> {
    /// Its name.
    pub name: &'m [u8],
    /// The object identifier of its type.
    pub type_oid: u32,
    /// 0 text, 1 binary.
    pub format: u16,
}

impl<'m> Description<'m> {
    pub(super) fn decode(body: &'m [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(body, "RowDescription");
        let count = reader.u16()?;
        let columns = reader.rest();
        for _ in 0..count {
            column(&mut reader)?;
        }
        reader.end()?;
        Ok(Self { count, columns })
    }

    /// The columns in their order.
    pub fn columns(&self) -> impl Iterator<Item = ColumnDescription<'m>> {
        let mut reader = Reader::new(self.columns, "RowDescription");
        (0..self.count).map_while(move |_| column(&mut reader).ok())
    }
}

fn column<'m>(reader: &mut Reader<'m>) -> Result<ColumnDescription<'m>, WireError> {
    let name = reader.text()?;
    reader.bytes(6)?; // Which table and which of its columns.
    let type_oid = reader.u32()?;
    reader.bytes(6)?; // The type's size and modifier.
    Ok(ColumnDescription { name, type_oid, format: reader.u16()? })
}

/// The values of a row as they were sent: each a length of four bytes and so many bytes, or the
/// length -1 and no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'m> {
    count: u16,
    values: &'m [u8],
}

impl<'m> Fields<'m> {
    #[inline]
    pub(super) fn decode(body: &'m [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(body, "DataRow");
        let count = reader.u16()?;
        let values = reader.rest();
        for _ in 0..count {
            value(&mut reader)?;
        }
        reader.end()?;
        Ok(Self { count, values })
    }

    /// How many values there are.
    #[inline]
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// The values in their order; none for a null.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'m [u8]>> {
        let mut reader = Reader::new(self.values, "DataRow");
        (0..self.count).map_while(move |_| value(&mut reader).ok())
    }
}

#[inline]
fn value<'m>(reader: &mut Reader<'m>) -> Result<Option<&'m [u8]>, WireError> {
    match reader.i32()? {
        -1 => Ok(None),
        // A length below -1 is larger than any body.
        length => reader.bytes(length as u32 as usize).map(Some),
    }
}

/// How a column of a prepared statement is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Two, four or eight bytes.
    Int,
    /// A decimal number in binary.
    Numeric,
    /// One byte.
    Bool,
    /// Bytes that are the same in binary.
    Text,
    /// Anything else, asked for as text.
    AsText,
}

impl Kind {
    /// How a type is read, by its object identifier.
    pub fn of(type_oid: u32) -> Self {
        match type_oid {
            oid::INT2 | oid::INT4 | oid::INT8 => Self::Int,
            oid::NUMERIC => Self::Numeric,
            oid::BOOL => Self::Bool,
            oid::BYTEA | oid::BYTE | oid::NAME | oid::TEXT | oid::BPCHAR | oid::VARCHAR => {
                Self::Text
            }
            _ => Self::AsText,
        }
    }

    /// In which format it is asked for: 0 text, 1 binary.
    pub fn format(self) -> u16 {
        u16::from(self != Self::AsText)
    }
}

/// One row of an answer.
///
/// `int` reads integers, booleans (0 and 1) and decimals without fraction; `text` everything else:
/// texts and `bytea` as they are, other types as the server prints them. Columns are found fastest
/// in rising order.
#[derive(Debug)]
pub struct Row<'r> {
    kinds: &'r [Kind],
    values: &'r [u8],
    /// The column that is found next, and where it begins.
    cursor: Cell<(usize, usize)>,
}

impl<'r> Row<'r> {
    /// The row of a message, whose columns are read so.
    ///
    /// # Errors
    /// `Protocol` when the row has another number of columns than was described.
    #[inline]
    pub fn new(fields: Fields<'r>, kinds: &'r [Kind]) -> Result<Self, WireError> {
        if fields.count() != kinds.len() {
            let (told, count) = (kinds.len(), fields.count());
            return Err(wrong(format!("a row of {count} columns where {told} were described")));
        }
        Ok(Self { kinds, values: fields.values, cursor: Cell::new((0, 0)) })
    }

    #[inline]
    fn find(&self, column: usize) -> Result<(Kind, Option<&'r [u8]>), WireError> {
        let Some(&kind) = self.kinds.get(column) else {
            let count = self.kinds.len();
            return Err(wrong(format!("the row has {count} columns, and {column} is asked for")));
        };
        let (mut next, mut place) = self.cursor.get();
        if column < next {
            (next, place) = (0, 0);
        }
        let mut reader = Reader::new(&self.values[place..], "DataRow");
        let mut found = None;
        while next <= column {
            found = value(&mut reader)?;
            next += 1;
        }
        self.cursor.set((next, self.values.len() - reader.rest().len()));
        Ok((kind, found))
    }
}

impl sql::Row for Row<'_> {
    fn columns(&self) -> usize {
        self.kinds.len()
    }

    #[inline]
    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        let (kind, found) = self.find(column)?;
        let Some(bytes) = found else { return Ok(None) };
        let number = match (kind, bytes) {
            (Kind::Int, &[a, b, c, d]) => Some(i64::from(i32::from_be_bytes([a, b, c, d]))),
            (Kind::Int, bytes) => match (<[u8; 8]>::try_from(bytes), bytes) {
                (Ok(bytes), _) => Some(i64::from_be_bytes(bytes)),
                (_, &[a, b]) => Some(i64::from(i16::from_be_bytes([a, b]))),
                _ => None,
            },
            (Kind::Numeric, bytes) => int_of_numeric(bytes),
            (Kind::Bool, &[truth]) => Some(i64::from(truth)),
            _ => None,
        };
        number.map(Some).ok_or_else(|| {
            wrong(format!(
                "column {column} is not an integer of 8 bytes at most; cast it to bigint"
            ))
        })
    }

    #[inline]
    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError> {
        let (kind, found) = self.find(column)?;
        if !matches!(kind, Kind::Text | Kind::AsText) {
            return Err(wrong(format!("column {column} is a number: read it as one, or cast it")));
        }
        Ok(found)
    }
}

/// A decimal in the format of `numeric_send`: how many digits of base 10,000, the first one's
/// weight, sign, digits after the point to show, the digits. None if it is no integer or too large.
///
/// Source: PostgreSQL, `src/backend/utils/adt/numeric.c`.
pub fn int_of_numeric(bytes: &[u8]) -> Option<i64> {
    /// The signs of all that is no number: NaN and the infinities are larger.
    const NEGATIVE: u16 = 0x4000;
    let mut halves = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, _scale) =
        (halves.next()?, halves.next()? as i16, halves.next()?, halves.next()?);
    if bytes.len() != 8 + usize::from(count) * 2 || (sign != 0 && sign != NEGATIVE) {
        return None;
    }
    let mut number: i64 = 0;
    let mut digits = halves.skip_while(|&digit| digit == 0).peekable();
    if digits.peek().is_none() {
        return Some(0);
    }
    let leading = usize::from(count) - digits.clone().count();
    let places = i32::from(weight) - leading as i32;
    if !(0..=4).contains(&places) {
        return None;
    }
    // Built up below zero: there is one more negative number than positive ones.
    for _ in 0..=places {
        let digit = digits.next().unwrap_or(0);
        number = number.checked_mul(10_000)?.checked_sub(i64::from(digit))?;
    }
    if digits.any(|digit| digit != 0) {
        return None;
    }
    if sign == NEGATIVE { Some(number) } else { number.checked_neg() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numeric(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight as u16, sign, 0];
        head.iter().chain(digits).flat_map(|half| half.to_be_bytes()).collect()
    }

    #[test]
    fn decimals_without_fraction_are_integers_and_others_are_not() {
        for (weight, sign, digits, expected) in [
            (0, 0, vec![], Some(0)),
            (0, 0, vec![7], Some(7)),
            (0, 0x4000, vec![7], Some(-7)),
            (1, 0, vec![1], Some(10_000)),
            (1, 0, vec![1, 23], Some(10_023)),
            (2, 0, vec![0, 1, 23], Some(10_023)),
            (4, 0, vec![922, 3372, 368, 5477, 5807], Some(i64::MAX)),
            (4, 0x4000, vec![922, 3372, 368, 5477, 5808], Some(i64::MIN)),
            (4, 0, vec![922, 3372, 368, 5477, 5808], None),
            (4, 0, vec![9999], None),
            (5, 0, vec![1], None),
            (-1, 0, vec![5000], None),
            (0, 0, vec![1, 5000], None),
            (0, 0, vec![1, 0], Some(1)),
            (0, 0xC000, vec![], None),
            (0, 0xD000, vec![], None),
        ] {
            let bytes = numeric(weight, sign, &digits);
            assert_eq!(int_of_numeric(&bytes), expected, "{weight} {sign:#x} {digits:?}");
            assert_eq!(int_of_numeric(&bytes[..bytes.len() - 1]), None);
        }
    }

    /// The digits of a decimal, added up as the format's description says, in wide arithmetic.
    fn slow_int(weight: i16, sign: u16, digits: &[u16]) -> Option<i64> {
        let mut sum = 0_i128;
        for (place, digit) in digits.iter().enumerate() {
            let power = i32::from(weight) - place as i32;
            if *digit != 0 && !(0..=4).contains(&power) {
                return None;
            }
            if *digit != 0 {
                sum += i128::from(*digit) * 10_000_i128.pow(power as u32);
            }
        }
        i64::try_from(if sign == 0 { sum } else { -sum }).ok()
    }

    proptest! {
        #[test]
        fn a_decimal_is_what_its_digits_add_up_to(
            weight in -3..7_i16,
            is_negative: bool,
            digits in proptest::collection::vec(prop_oneof![Just(0), 0..10_000_u16], 0..8),
        ) {
            let sign = if is_negative { 0x4000 } else { 0 };
            let found = int_of_numeric(&numeric(weight, sign, &digits));
            prop_assert_eq!(found, slow_int(weight, sign, &digits));
        }

        #[test]
        fn any_bytes_are_a_decimal_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..30),
            count in 0..12_u16,
        ) {
            let bytes = [&count.to_be_bytes(), &bytes[..]].concat();
            int_of_numeric(&bytes);
        }
    }

    #[test]
    fn columns_are_found_in_any_order() {
        use crate::sql::Row as _;
        let body = b"\0\x04\0\0\0\x02\0\x07\xff\xff\xff\xff\0\0\0\x01x\0\0\0\x04\xff\xff\xff\xfe";
        let fields = Fields::decode(body).unwrap();
        let kinds = [Kind::Int, Kind::Int, Kind::Text, Kind::Int];
        let row = Row::new(fields, &kinds).unwrap();
        for _ in 0..2 {
            assert_eq!(row.int(3).unwrap(), Some(-2));
            assert_eq!(row.int(0).unwrap(), Some(7));
            assert_eq!(row.text(2).unwrap(), Some(&b"x"[..]));
            assert_eq!(row.text(2).unwrap(), Some(&b"x"[..]));
            assert_eq!(row.int(1).unwrap(), None);
        }
        assert!(row.int(2).is_err() && row.text(0).is_err() && row.int(4).is_err());
        assert!(Row::new(fields, &kinds[..3]).is_err());
    }
}
