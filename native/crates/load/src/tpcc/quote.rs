//! Texts as literals, whatever the server's modes are.

use std::fmt::Write;

use assay_wire::sql::Dialect;

use super::TpccError;

/// Appends a literal. One with a backslash is written so that `sql_mode` NO_BACKSLASH_ESCAPES and
/// `standard_conforming_strings` make no difference: as a hexadecimal literal, or as E'...'.
///
/// # Errors
/// `Text` for a zero byte or what is not UTF-8.
pub fn quote(dialect: Dialect, text: &[u8], into: &mut String) -> Result<(), TpccError> {
    let refused = || TpccError::Text(String::from_utf8_lossy(text).into_owned());
    let words = std::str::from_utf8(text).map_err(|_| refused())?;
    if text.contains(&0) {
        return Err(refused());
    }
    let has_backslash = text.contains(&b'\\');
    if has_backslash && dialect == Dialect::MySql {
        into.push_str("X'");
        for byte in text {
            // Writing to a text cannot fail.
            let _ = write!(into, "{byte:02X}");
        }
        into.push('\'');
        return Ok(());
    }
    into.push_str(if has_backslash { "E'" } else { "'" });
    for letter in words.chars() {
        if letter == '\'' || letter == '\\' {
            into.push(letter);
        }
        into.push(letter);
    }
    into.push('\'');
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A panic is how a test fails.

    use super::*;

    fn quoted(dialect: Dialect, text: &[u8]) -> String {
        let mut into = String::new();
        quote(dialect, text, &mut into).unwrap();
        into
    }

    #[test]
    fn a_text_cannot_end_its_literal() {
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            assert_eq!(quoted(dialect, b"abc"), "'abc'");
            assert_eq!(quoted(dialect, b"O'Neil"), "'O''Neil'");
        }
        assert_eq!(quoted(Dialect::MySql, b"a\\'"), "X'615C27'");
        assert_eq!(quoted(Dialect::Postgres, b"a\\'"), "E'a\\\\'''");
    }

    #[test]
    fn what_no_literal_can_hold_is_refused() {
        for text in [&b"a\0b"[..], b"\xFF"] {
            assert!(quote(Dialect::Postgres, text, &mut String::new()).is_err());
        }
    }
}
