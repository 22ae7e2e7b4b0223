//! Many rows at once, the way a protocol has for it.
//!
//! Rows come as lines of columns separated by tabs, in COPY's text format: within a column a
//! backslash begins what stands for one character (`\t`, `\n`, `\\` and so on, but no numbers other
//! than `\0`), and `\N` is null.

use assay_wire::sql::Session;
use assay_wire::{WireError, mysql, postgres};

/// A COPY is fed in pieces of so many bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// An INSERT ends with the row that makes it this long.
const STATEMENT_BYTES: usize = 256 * 1024;
/// Statements of one transaction: the log is not flushed after each.
const STATEMENTS_PER_COMMIT: usize = 16;

/// A session that takes many rows at once.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Bulk: Session {
    /// Lines as [`Bulk::add_batch`] wants them.
    ///
    /// # Errors
    /// `Protocol` when the protocol cannot carry them.
    fn batch_of(table: &str, lines: &[u8]) -> Result<String, WireError>;

    /// Adds a batch, all of it or nothing; how many rows that were.
    ///
    /// # Errors
    /// Any of the session.
    async fn add_batch(&mut self, table: &str, batch: &str) -> Result<u64, WireError>;

    /// Adds what `next_lines` appends to an empty buffer, whole lines, until it returns false; how
    /// many rows that were.
    ///
    /// # Errors
    /// Any of the session.
    async fn add_all(
        &mut self,
        table: &str,
        next_lines: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<u64, WireError>;
}

impl Bulk for postgres::Session {
    fn batch_of(_: &str, lines: &[u8]) -> Result<String, WireError> {
        Ok(utf8(lines)?.to_owned())
    }

    async fn add_batch(&mut self, table: &str, batch: &str) -> Result<u64, WireError> {
        let mut pieces = batch.as_bytes().chunks(PIECE_BYTES);
        let next = |into: &mut Vec<u8>| {
            into.extend_from_slice(pieces.next().unwrap_or_default());
            pieces.len() > 0
        };
        self.copy_in(&copy(table), next).await
    }

    async fn add_all(
        &mut self,
        table: &str,
        next_lines: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<u64, WireError> {
        self.copy_in(&copy(table), next_lines).await
    }
}

fn copy(table: &str) -> String {
    format!("COPY {table} FROM STDIN")
}

impl Bulk for mysql::Session {
    fn batch_of(table: &str, lines: &[u8]) -> Result<String, WireError> {
        let mut text = format!("INSERT INTO {table} VALUES ");
        let head = text.len();
        for line in utf8(lines)?.split_terminator('\n') {
            if text.len() > head {
                text.push(',');
            }
            push_row(&mut text, line);
        }
        Ok(text)
    }

    async fn add_batch(&mut self, _: &str, batch: &str) -> Result<u64, WireError> {
        self.batch(batch).await.map(|completion| completion.affected)
    }

    async fn add_all(
        &mut self,
        table: &str,
        mut next_lines: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<u64, WireError> {
        let (mut rows, mut has_more, mut lines) = (0, true, Vec::new());
        while has_more {
            self.batch("BEGIN").await?;
            for _ in 0..STATEMENTS_PER_COMMIT {
                lines.clear();
                while has_more && lines.len() < STATEMENT_BYTES {
                    has_more = append(&mut lines, &mut next_lines);
                }
                if !lines.is_empty() {
                    let text = Self::batch_of(table, &lines)?;
                    rows += self.add_batch(table, &text).await?;
                }
            }
            self.batch("COMMIT").await?;
        }
        Ok(rows)
    }
}

/// Lets `next` fill an empty buffer and appends that.
fn append(lines: &mut Vec<u8>, next: &mut impl FnMut(&mut Vec<u8>) -> bool) -> bool {
    let mut chunk = Vec::new();
    let has_more = next(&mut chunk);
    lines.extend_from_slice(&chunk);
    has_more
}

fn utf8(lines: &[u8]) -> Result<&str, WireError> {
    str::from_utf8(lines).map_err(|error| WireError::Protocol {
        protocol: "the rows' file",
        what: format!("rows are not UTF-8: {error}"),
    })
}

/// A line as a row of values.
fn push_row(text: &mut String, line: &str) {
    text.push('(');
    for (place, column) in line.split('\t').enumerate() {
        if place > 0 {
            text.push(',');
        }
        push_value(text, column);
    }
    text.push(')');
}

/// A column as a value: numbers that read the same as texts are written without quotes.
fn push_value(text: &mut String, column: &str) {
    if column == r"\N" {
        return text.push_str("NULL");
    }
    if is_plain_number(column) {
        return text.push_str(column);
    }
    text.push('\'');
    let mut letters = column.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => text.push_str("''"),
            '\0' => text.push_str("\\0"),
            '\\' => push_escape(text, letters.next()),
            letter => text.push(letter),
        }
    }
    text.push('\'');
}

/// What stands after a backslash. Letters that mean themselves are left as they are.
fn push_escape(text: &mut String, letter: Option<char>) {
    match letter {
        Some('t') => text.push_str("\\t"),
        Some('n') => text.push_str("\\n"),
        Some('r') => text.push_str("\\r"),
        Some('b') => text.push_str("\\b"),
        Some('f') => text.push('\u{c}'),
        Some('v') => text.push('\u{b}'),
        Some('0') => text.push_str("\\0"),
        Some('\'') => text.push_str("''"),
        None | Some('\\') => text.push_str("\\\\"),
        Some(letter) => text.push(letter),
    }
}

fn is_plain_number(column: &str) -> bool {
    let digits = column.strip_prefix('-').unwrap_or(column);
    let is_canonical = column == "0" || !digits.starts_with('0');
    (1..=18).contains(&digits.len())
        && is_canonical
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(lines: &str) -> String {
        let text = mysql::Session::batch_of("t", lines.as_bytes()).unwrap();
        text.strip_prefix("INSERT INTO t VALUES ").unwrap().to_owned()
    }

    #[test]
    fn lines_become_rows_of_an_insert() {
        assert_eq!(inserted("1\ta b\n-2\t\n"), "(1,'a b'),(-2,'')");
        assert_eq!(inserted("007\t-0\t0\t1.5\t\\N\n"), "('007','-0',0,'1.5',NULL)");
    }

    #[test]
    fn what_a_text_hides_stays_within_its_quotes() {
        assert_eq!(inserted("it's\n"), "('it''s')");
        assert_eq!(inserted("a\\\\'b\n"), r"('a\\''b')");
        assert_eq!(inserted("a\\tb\\nc\\'\n"), r"('a\tb\nc''')");
        assert_eq!(inserted("ends in \\\n"), r"('ends in \\')");
        assert_eq!(inserted("\\0\\f\\%\n"), "('\\0\u{c}%')");
    }

    #[test]
    fn rows_that_are_no_text_are_refused() {
        let refused = mysql::Session::batch_of("t", b"\xff\n");
        assert!(refused.unwrap_err().to_string().contains("not UTF-8"));
    }
}
