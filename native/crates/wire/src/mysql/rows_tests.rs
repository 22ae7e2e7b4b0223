use super::*;
use crate::mysql::bytes::put_string;
use crate::sql::Row as _;

/// A definition as a server writes it.
fn definition(kind: u8, flags: u16) -> Vec<u8> {
    let mut out = Vec::new();
    for name in ["def", "database", "table", "t", "column", "c"] {
        put_string(&mut out, name.as_bytes());
    }
    out.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, kind]);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[0, 0, 0]);
    out
}

fn columns(kinds: &[(u8, u16)]) -> Vec<Column> {
    kinds.iter().map(|&(kind, flags)| Column::read(&definition(kind, flags)).unwrap()).collect()
}

/// The value of a row of one column.
fn int(kind: u8, flags: u16, value: &[u8]) -> Result<Option<i64>, String> {
    let payload = [&[0, 0], value].concat();
    let columns = columns(&[(kind, flags)]);
    Row::read(&payload, &columns).unwrap().int(0).map_err(|error| error.to_string())
}

#[test]
fn every_integer_type_is_read_with_its_sign() {
    assert_eq!(int(code::TINY, 0, &[0xFF]), Ok(Some(-1)));
    assert_eq!(int(code::TINY, UNSIGNED, &[0xFF]), Ok(Some(255)));
    assert_eq!(int(code::SHORT, 0, &[0, 0x80]), Ok(Some(-32_768)));
    assert_eq!(int(code::SHORT, UNSIGNED, &[0, 0x80]), Ok(Some(32_768)));
    assert_eq!(int(code::YEAR, UNSIGNED, &[0xEA, 7]), Ok(Some(2026)));
    assert_eq!(int(code::INT24, 0, &[0xFE, 0xFF, 0xFF, 0xFF]), Ok(Some(-2)));
    assert_eq!(int(code::LONG, 0, &[0xFE, 0xFF, 0xFF, 0xFF]), Ok(Some(-2)));
    assert_eq!(int(code::LONG, UNSIGNED, &[0xFE, 0xFF, 0xFF, 0xFF]), Ok(Some(4_294_967_294)));
    assert_eq!(int(code::LONGLONG, 0, &[0xFD, 255, 255, 255, 255, 255, 255, 255]), Ok(Some(-3)));
    let most = i64::MAX.to_le_bytes();
    assert_eq!(int(code::LONGLONG, UNSIGNED, &most), Ok(Some(i64::MAX)));
    assert!(int(code::LONGLONG, UNSIGNED, &[255; 8]).unwrap_err().contains("18446744073709551615"));
}

#[test]
fn a_decimal_is_an_integer_if_it_has_no_fraction() {
    let decimal = |text: &str| {
        let mut value = Vec::new();
        put_string(&mut value, text.as_bytes());
        int(code::NEWDECIMAL, 0, &value)
    };
    assert_eq!(decimal("0"), Ok(Some(0)));
    assert_eq!(decimal("-9223372036854775808"), Ok(Some(i64::MIN)));
    assert_eq!(decimal("12.000"), Ok(Some(12)));
    for wrong in ["12.5", "9223372036854775808", "", "1e3", "12.0x"] {
        assert!(decimal(wrong).unwrap_err().contains("no integer"), "{wrong}");
    }
}

#[test]
fn other_types_are_no_integers_and_numbers_no_texts() {
    for (kind, value) in [(code::DOUBLE, &[0; 8][..]), (code::FLOAT, &[0; 4]), (254, b"\x0212")] {
        assert!(int(kind, 0, value).unwrap_err().contains("no integer"));
    }
    let columns = columns(&[(code::LONG, 0)]);
    let row = Row::read(&[0, 0, 1, 0, 0, 0], &columns).unwrap();
    assert!(row.text(0).unwrap_err().to_string().contains("column 0 is INT, no text"));
    assert!(row.int(1).unwrap_err().to_string().contains("column 1 of 1"));
}

#[test]
fn values_are_found_behind_any_others_and_in_any_order() {
    let kinds = [
        (code::DATETIME, 0),
        (code::DOUBLE, 0),
        (code::LONG, 0),
        (code::TINY, 0),
        (code::VARCHAR, 0),
        (code::TIME, 0),
        (code::FLOAT, 0),
        (code::LONGLONG, 0),
        (252, 0),
    ];
    let columns = columns(&kinds);
    // The fourth is null: bit 3 + 2.
    let mut payload = vec![0, 1 << 5, 0];
    payload.extend_from_slice(&[4, 0xEA, 7, 11, 21]);
    payload.extend_from_slice(&1.5_f64.to_le_bytes());
    payload.extend_from_slice(&77_i32.to_le_bytes());
    put_string(&mut payload, b"text");
    payload.extend_from_slice(&[0]);
    payload.extend_from_slice(&1.5_f32.to_le_bytes());
    payload.extend_from_slice(&(-5_i64).to_le_bytes());
    put_string(&mut payload, &[9; 300]);
    let row = Row::read(&payload, &columns).unwrap();
    assert_eq!(row.columns(), 9);
    for _ in 0..2 {
        assert_eq!(row.text(8).unwrap(), Some(&[9; 300][..]));
        assert_eq!(row.int(2).unwrap(), Some(77));
        assert_eq!(row.int(3).unwrap(), None);
        assert_eq!(row.text(4).unwrap(), Some(&b"text"[..]));
        assert_eq!(row.int(7).unwrap(), Some(-5));
        assert_eq!(row.int(7).unwrap(), Some(-5), "asked again");
    }
}

#[test]
fn a_row_that_is_cut_is_an_error_wherever_it_is_cut() {
    let columns = columns(&[(code::LONG, 0), (254, 0), (code::LONGLONG, 0)]);
    let mut payload = vec![0, 0, 1, 2, 3, 4];
    put_string(&mut payload, b"abc");
    payload.extend_from_slice(&7_i64.to_le_bytes());
    let read = |end: usize| Row::read(&payload[..end], &columns).and_then(|row| row.int(2));
    assert_eq!(read(payload.len()).unwrap(), Some(7));
    for end in 0..payload.len() {
        assert!(matches!(read(end), Err(WireError::Protocol { .. })), "cut at {end}");
    }
}

#[test]
fn a_definition_is_read_from_its_end() {
    let whole = definition(code::LONG, UNSIGNED);
    let column = Column::read(&whole).unwrap();
    assert_eq!(column, Column { code: code::LONG, is_unsigned: true });
    assert!(Column::read(&whole[..whole.len() - 1]).is_err());
    assert!(Column::read(b"def").is_err());
    assert!(Columns::default().push(&definition(200, 0)).is_err(), "an unknown type");
}
