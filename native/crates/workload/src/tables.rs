//! The seam between procedures and whatever keeps the tables: keys, rows, the operations.
//!
//! A transaction procedure is written once, generic over [`Tables`], and runs on the embedded
//! engine and on the slow twin in [`crate::reference`]. The trait says what a procedure may ask
//! for; begin, commit, retry, isolation and the log belong to whoever calls the procedure.
//!
//! Keys are `u64`, packed so that their order is the order of the number. Rows have a fixed number
//! of bytes, a multiple of eight, because the engine keeps rows as words. A row type owns its
//! bytes and reads and writes fields at fixed offsets: fields lie in the order in which they are
//! declared, without gaps, numbers little-endian, texts padded with zero bytes. A secondary index
//! is a table whose key ends in the primary key.
//!
//! What is not here: projections and partial writes (a whole row is read and written), column
//! types beyond integers and texts, nulls (zero stands for null where a column may be null).

use std::ops::RangeInclusive;

/// Names a table within one workload: an index into the workload's list of [`TableSchema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u8);

/// What an engine must know to keep a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's number; equal to its place in the list.
    pub id: TableId,
    /// The name used in results.
    pub name: &'static str,
    /// Bytes of every row: a multiple of eight.
    pub row_bytes: usize,
}

impl TableSchema {
    /// The schema of the table of one row type.
    pub const fn of<R: Row>(name: &'static str) -> Self {
        Self { id: R::TABLE, name, row_bytes: R::BYTES }
    }
}

/// Which end of a range a scan starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key.
    Forward,
    /// From the largest key.
    Backward,
}

/// Why a procedure itself gives up. Other causes (a busy lock, a failed validation) are the
/// engine's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// The workload wants this transaction rolled back; it must not be tried again.
    Requested,
    /// A row that must exist was not there.
    RowMissing {
        /// Where it was looked for.
        table: TableId,
        /// Under which key.
        key: u64,
    },
}

/// The operations of one transaction.
///
/// Contract: reads see the transaction's own earlier writes. Scans may, but need not, see its own
/// inserts and deletes: no procedure of this crate scans a range in which it changed the set of
/// keys earlier. After any `Err` the procedure returns at once, and the caller rolls back.
pub trait Tables {
    /// What ends a transaction early.
    type Abort;

    /// Turns a procedure's own reason into the engine's abort.
    fn abort(&mut self, cause: AbortCause) -> Self::Abort;

    /// Copies a row into `row`, whose length is that of the table's rows; false when there is no
    /// such key, and then `row` is unspecified.
    fn read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, Self::Abort>;

    /// Like `read`, announcing that the row will be written: locking engines take the exclusive
    /// lock at once and so need no upgrade.
    fn read_for_update(
        &mut self,
        table: TableId,
        key: u64,
        row: &mut [u8],
    ) -> Result<bool, Self::Abort> {
        self.read(table, key, row)
    }

    /// Replaces an existing row. A missing key ends the transaction.
    fn write(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Self::Abort>;

    /// Adds a row. A key that exists ends the transaction.
    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), Self::Abort>;

    /// Removes an existing row. A missing key ends the transaction.
    fn delete(&mut self, table: TableId, key: u64) -> Result<(), Self::Abort>;

    /// Calls `visit` with up to `limit` rows of a key range, in key order or against it.
    fn scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        visit: impl FnMut(u64, &[u8]),
    ) -> Result<(), Self::Abort>;

    /// Says which rows will be read soon. Changes nothing; a store may fetch ahead.
    fn announce(&mut self, _table: TableId, _keys: impl Iterator<Item = u64> + Clone) {}

    /// A row that may be absent.
    fn find<R: Row>(&mut self, key: u64) -> Result<Option<R>, Self::Abort> {
        let mut row = R::zeroed();
        Ok(self.read(R::TABLE, key, row.bytes_mut())?.then_some(row))
    }

    /// A row that must exist.
    #[inline]
    fn get<R: Row>(&mut self, key: u64) -> Result<R, Self::Abort> {
        let mut row = R::zeroed();
        if !self.read(R::TABLE, key, row.bytes_mut())? {
            return Err(self.abort(AbortCause::RowMissing { table: R::TABLE, key }));
        }
        Ok(row)
    }

    /// Changes a row that must exist, and returns it as it is now.
    fn update<R: Row>(&mut self, key: u64, change: impl FnOnce(&mut R)) -> Result<R, Self::Abort> {
        let mut row = R::zeroed();
        if !self.read_for_update(R::TABLE, key, row.bytes_mut())? {
            return Err(self.abort(AbortCause::RowMissing { table: R::TABLE, key }));
        }
        change(&mut row);
        self.write(R::TABLE, key, row.bytes())?;
        Ok(row)
    }

    /// Adds a typed row.
    fn add<R: Row>(&mut self, key: u64, row: &R) -> Result<(), Self::Abort> {
        self.insert(R::TABLE, key, row.bytes())
    }

    /// Removes a row of a typed table.
    fn remove<R: Row>(&mut self, key: u64) -> Result<(), Self::Abort> {
        self.delete(R::TABLE, key)
    }

    /// Scans a typed table.
    fn scan_rows<R: Row>(
        &mut self,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(u64, &R),
    ) -> Result<(), Self::Abort> {
        let mut row = R::zeroed();
        self.scan(R::TABLE, keys, direction, limit, |key, bytes| {
            row.bytes_mut().copy_from_slice(bytes);
            visit(key, &row);
        })
    }

    /// The first row of a range, seen from the end that `direction` starts at.
    fn first<R: Row>(
        &mut self,
        keys: RangeInclusive<u64>,
        direction: Direction,
    ) -> Result<Option<(u64, R)>, Self::Abort> {
        let mut first = None;
        self.scan_rows(keys, direction, 1, |key, row: &R| first = Some((key, row.clone())))?;
        Ok(first)
    }
}

/// A row of fixed size that belongs to one table.
pub trait Row: Clone {
    /// Its table.
    const TABLE: TableId;
    /// Its size: a multiple of eight.
    const BYTES: usize;
    /// All numbers zero, all texts empty.
    fn zeroed() -> Self;
    /// The encoded row.
    fn bytes(&self) -> &[u8];
    /// The encoded row, to be filled.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// How a field of a row lies in its bytes.
pub trait Field {
    /// Its size.
    const BYTES: usize;
    /// What reading it gives.
    type Value<'a>;
    /// Decodes exactly `BYTES` bytes.
    fn get(bytes: &[u8]) -> Self::Value<'_>;
    /// Encodes into exactly `BYTES` bytes.
    fn set(bytes: &mut [u8], value: Self::Value<'_>);
}

macro_rules! integer_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            const BYTES: usize = size_of::<$type>();
            type Value<'a> = $type;

            #[inline]
            fn get(bytes: &[u8]) -> $type {
                let mut encoded = [0; size_of::<$type>()];
                encoded.copy_from_slice(bytes);
                <$type>::from_le_bytes(encoded)
            }

            #[inline]
            fn set(bytes: &mut [u8], value: $type) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        }
    )*};
}

integer_fields!(u8, u16, u32, u64, i64);

/// A text of up to `N` bytes, without zero bytes. What does not fit is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Text<const N: usize>;

impl<const N: usize> Field for Text<N> {
    const BYTES: usize = N;
    type Value<'a> = &'a [u8];

    #[inline]
    fn get(bytes: &[u8]) -> &[u8] {
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(N);
        &bytes[..length]
    }

    #[inline]
    fn set(bytes: &mut [u8], value: &[u8]) {
        let length = value.len().min(N);
        bytes[..length].copy_from_slice(&value[..length]);
        bytes[length..].fill(0);
    }
}

/// Exactly `N` bytes, read as they are, without a search for where a text ends.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<const N: usize>;

impl<const N: usize> Field for Fixed<N> {
    const BYTES: usize = N;
    type Value<'a> = &'a [u8];

    #[inline]
    fn get(bytes: &[u8]) -> &[u8] {
        bytes
    }

    #[inline]
    fn set(bytes: &mut [u8], value: &[u8]) {
        bytes.copy_from_slice(value);
    }
}

/// Declares a row type: `Name in TABLE; getter, setter: field type; ...`.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $name:ident in $table:expr;
        $($(#[$field_meta:meta])* $get:ident, $set:ident: $type:ty;)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            bytes: [u8; $name::BYTES],
        }

        const _: () = {
            use $crate::tables::{Field, Row, TableId};

            /// Byte arrays have no alignment: the offsets are the sums of the sizes.
            #[allow(dead_code)] // Only its offsets are used.
            #[repr(C)]
            struct Layout {
                $($get: [u8; <$type as Field>::BYTES],)*
            }

            impl $name {
                /// Bytes of the encoded row.
                pub const BYTES: usize = size_of::<Layout>().next_multiple_of(8);

                $(
                    $(#[$field_meta])*
                    #[inline]
                    pub fn $get(&self) -> <$type as Field>::Value<'_> {
                        let offset = std::mem::offset_of!(Layout, $get);
                        <$type as Field>::get(&self.bytes[offset..offset + <$type>::BYTES])
                    }

                    /// Sets the field that the getter above reads.
                    #[inline]
                    pub fn $set(&mut self, value: <$type as Field>::Value<'_>) {
                        let offset = std::mem::offset_of!(Layout, $get);
                        let field = offset..offset + <$type as Field>::BYTES;
                        <$type as Field>::set(&mut self.bytes[field], value);
                    }
                )*
            }

            impl Row for $name {
                const TABLE: TableId = $table;
                const BYTES: usize = $name::BYTES;

                fn zeroed() -> Self {
                    Self { bytes: [0; $name::BYTES] }
                }

                fn bytes(&self) -> &[u8] {
                    &self.bytes
                }

                fn bytes_mut(&mut self) -> &mut [u8] {
                    &mut self.bytes
                }
            }
        };
    };
}

pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::{Row, Text};

    row! {
        /// One field of each kind.
        Sample in TableId(3);
        small, set_small: u8;
        money, set_money: i64;
        name, set_name: Text<5>;
        count, set_count: u32;
    }

    #[test]
    fn fields_lie_one_after_the_other_and_rows_are_whole_words() {
        let mut row = Sample::zeroed();
        row.set_small(7);
        row.set_money(-2);
        row.set_name(b"abc");
        row.set_count(0x0102_0304);
        let mut expected = vec![7];
        expected.extend((-2_i64).to_le_bytes());
        expected.extend(b"abc\0\0");
        expected.extend([4, 3, 2, 1]);
        expected.resize(24, 0);
        assert_eq!(row.bytes(), expected);
        assert_eq!((row.small(), row.money(), row.count()), (7, -2, 0x0102_0304));
        assert_eq!(row.name(), b"abc");
    }

    #[test]
    fn a_text_is_cut_at_its_size_and_leaves_nothing_of_a_longer_one() {
        let mut row = Sample::zeroed();
        row.set_name(b"abcdefg");
        assert_eq!(row.name(), b"abcde");
        row.set_name(b"x");
        assert_eq!(row.name(), b"x");
    }
}
