//! Columns and binary rows.

use std::cell::Cell;
use std::rc::Rc;

use super::bytes::{Bytes, whole};
use super::protocol;
use crate::pool::Pool;
use crate::{WireError, sql};

/// A column's type, as far as its values need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    code: u8,
    is_unsigned: bool,
}

/// Bytes at the end of a definition: their length, character set, display length, type, flags,
/// decimals and two of filling.
const FIXED_BYTES: usize = 13;
const UNSIGNED: u16 = 32;

/// The types' numbers. Those of dates with fractions are never sent.
mod code {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const GEOMETRY: u8 = 255;
}

impl Column {
    /// Reads a definition. Names come first and are passed over without a look: what says how a
    /// value is read has its place at the end.
    ///
    /// # Errors
    /// `Protocol` when it is none.
    #[inline]
    pub fn read(definition: &[u8]) -> Result<Self, WireError> {
        let Some((_, &[12, _, _, _, _, _, _, code, low, high, _, _, _])) =
            definition.split_last_chunk::<FIXED_BYTES>()
        else {
            return Err(protocol("a column's definition does not end as one"));
        };
        Ok(Self { code, is_unsigned: u16::from_le_bytes([low, high]) & UNSIGNED != 0 })
    }

    /// Passes over a value.
    #[inline]
    fn skip(self, bytes: &mut Bytes<'_>) -> Option<()> {
        match self.code {
            code::LONGLONG | code::DOUBLE => bytes.take(8)?,
            code::LONG | code::INT24 | code::FLOAT => bytes.take(4)?,
            code::SHORT | code::YEAR => bytes.take(2)?,
            code::TINY => bytes.take(1)?,
            code::NULL => &[],
            _ => bytes.string()?,
        };
        Some(())
    }

    /// Whether its values are strings; of decimals and blobs too.
    fn is_text(self) -> bool {
        matches!(self.code, code::DECIMAL | code::VARCHAR | code::BIT | code::VECTOR)
            || self.code >= code::JSON
    }

    fn is_known(self) -> bool {
        self.is_text() || self.code <= code::NEWDATE
    }

    fn name(self) -> &'static str {
        match self.code {
            code::TINY => "TINYINT",
            code::SHORT => "SMALLINT",
            code::INT24 => "MEDIUMINT",
            code::LONG => "INT",
            code::LONGLONG => "BIGINT",
            code::FLOAT => "FLOAT",
            code::DOUBLE => "DOUBLE",
            code::NULL => "NULL",
            code::YEAR => "YEAR",
            code::TIMESTAMP | code::DATETIME => "a date and time",
            code::DATE | code::NEWDATE => "a date",
            code::TIME => "a time",
            code::DECIMAL | code::NEWDECIMAL => "DECIMAL",
            code::BIT => "BIT",
            code::JSON => "JSON",
            code::ENUM..=code::GEOMETRY | code::VARCHAR => "a string",
            _ => "a type that is not known here",
        }
    }
}

/// A row, as the answer to a prepared statement has it.
///
/// Values lie one after another, and where one begins depends on all before it: columns that are
/// read in their order are each passed once, and those that are not read not at all.
#[derive(Debug)]
pub struct Row<'r> {
    columns: &'r [Column],
    nulls: &'r [u8],
    values: &'r [u8],
    /// A column and where its value begins: that which was last asked for.
    known: Cell<(usize, usize)>,
}

/// The bits of the null bitmap that mean nothing.
const NULL_OFFSET: usize = 2;

impl<'r> Row<'r> {
    /// The row of a packet.
    ///
    /// # Errors
    /// `Protocol` when it ends before its values begin.
    #[inline]
    pub fn read(payload: &'r [u8], columns: &'r [Column]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload);
        if bytes.u8() != Some(0) {
            return Err(protocol("a row does not begin as one"));
        }
        let nulls = whole(bytes.take((columns.len() + NULL_OFFSET).div_ceil(8)), "a row")?;
        Ok(Self { columns, nulls, values: bytes.0, known: Cell::new((0, 0)) })
    }

    #[inline]
    fn is_null(&self, column: usize) -> bool {
        let bit = column + NULL_OFFSET;
        self.nulls[bit / 8] & (1 << (bit % 8)) != 0
    }

    /// A column and the bytes from its value on; none if it is null.
    #[inline]
    fn value(&self, column: usize) -> Result<Option<(Column, Bytes<'r>)>, WireError> {
        let Some(&wanted) = self.columns.get(column) else {
            return Err(protocol(format!("column {column} of {}", self.columns.len())));
        };
        if self.is_null(column) {
            return Ok(None);
        }
        let (mut at, mut place) = self.known.get();
        if at > column {
            (at, place) = (0, 0);
        }
        let mut bytes = Bytes(&self.values[place..]);
        while at < column {
            if !self.is_null(at) {
                whole(self.columns[at].skip(&mut bytes), "a row")?;
            }
            at += 1;
        }
        place = self.values.len() - bytes.0.len();
        self.known.set((column, place));
        Ok(Some((wanted, bytes)))
    }
}

impl sql::Row for Row<'_> {
    fn columns(&self) -> usize {
        self.columns.len()
    }

    #[inline]
    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        let Some((kind, mut bytes)) = self.value(column)? else { return Ok(None) };
        let signed = !kind.is_unsigned;
        let read = match kind.code {
            code::LONGLONG if signed => bytes.u64().map(u64::cast_signed),
            code::LONGLONG => {
                let large = whole(bytes.u64(), "a row")?;
                Some(i64::try_from(large).map_err(|_| {
                    protocol(format!("column {column} is {large}, which is beyond 2^63 - 1"))
                })?)
            }
            code::LONG | code::INT24 if signed => {
                bytes.u32().map(|value| i64::from(value.cast_signed()))
            }
            code::LONG | code::INT24 => bytes.u32().map(i64::from),
            code::SHORT if signed => bytes.u16().map(|value| i64::from(value.cast_signed())),
            code::SHORT | code::YEAR => bytes.u16().map(i64::from),
            code::TINY if signed => bytes.u8().map(|value| i64::from(value.cast_signed())),
            code::TINY => bytes.u8().map(i64::from),
            code::DECIMAL | code::NEWDECIMAL => {
                let digits = whole(bytes.string(), "a row")?;
                Some(whole_decimal(digits).ok_or_else(|| {
                    let shown = String::from_utf8_lossy(&digits[..digits.len().min(80)]);
                    protocol(format!("column {column} is {shown}, no integer of 64 bits"))
                })?)
            }
            _ => return Err(protocol(format!("column {column} is {}, no integer", kind.name()))),
        };
        whole(read, "a row").map(Some)
    }

    #[inline]
    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError> {
        let Some((kind, mut bytes)) = self.value(column)? else { return Ok(None) };
        if !kind.is_text() {
            return Err(protocol(format!("column {column} is {}, no text", kind.name())));
        }
        whole(bytes.string(), "a row").map(Some)
    }
}

/// The integer that a decimal is; none if it has a fraction, or more than 64 bits.
fn whole_decimal(digits: &[u8]) -> Option<i64> {
    let digits = str::from_utf8(digits).ok()?;
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.bytes().any(|digit| digit != b'0') {
        return None;
    }
    integer.parse().ok()
}

thread_local! {
    static SHARED: Pool<Vec<Column>> = Pool::default();
}

/// The columns of an answer. A server that tells them anew replaces them, one after another.
#[derive(Debug, Default)]
pub struct Columns(Rc<Vec<Column>>);

impl Columns {
    /// The columns that are known.
    pub fn get(&self) -> &[Column] {
        &self.0
    }

    /// Adds a column.
    ///
    /// # Errors
    /// `Protocol` when the bytes define none, or one of a type that is not known here.
    #[inline]
    pub fn push(&mut self, definition: &[u8]) -> Result<(), WireError> {
        let column = Column::read(definition)?;
        if !column.is_known() {
            return Err(protocol(format!("a column has type {}", column.code)));
        }
        Rc::make_mut(&mut self.0).push(column);
        Ok(())
    }

    /// Forgets them and keeps the memory, if it is not shared.
    pub fn clear(&mut self) {
        match Rc::get_mut(&mut self.0) {
            Some(own) => own.clear(),
            None => self.0 = Rc::default(),
        }
    }

    /// The same, in memory that all statements with these columns share.
    #[must_use]
    pub fn shared(mut self) -> Self {
        let own = std::mem::take(Rc::make_mut(&mut self.0));
        Self(SHARED.with(|pool| pool.share(own)))
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
