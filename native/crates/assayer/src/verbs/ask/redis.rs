//! Commands of Redis as people write them, and replies as rows.

use assay_runtime::Handle;
use assay_wire::resp::Session;
use assay_wire::resp::codec::{self, Reply};
use assay_wire::{Target, WireError};

use super::{Rows, text};
use crate::failure::Failure;

/// The words of each command.
pub fn commands(asks: &[String]) -> Result<Vec<Vec<Vec<u8>>>, Failure> {
    let words = |ask: &String| {
        let words = words(ask).filter(|words| !words.is_empty());
        words.ok_or_else(|| Failure::usage(format!("asks: {ask:?} is not a command of Redis")))
    };
    asks.iter().map(words).collect()
}

/// Asks all, one after another.
pub async fn ask(
    handle: &Handle,
    target: &Target,
    commands: &[Vec<Vec<u8>>],
) -> Result<Vec<Rows>, WireError> {
    let mut session = Session::open(handle, target).await?;
    let mut answers = Vec::new();
    for words in commands {
        let (mut out, mut rows) = (Vec::new(), Rows::new());
        codec::command(&mut out, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        session
            .run(&out, 1, |reply| {
                rows = rows_of(*reply);
                Ok(())
            })
            .await?;
        answers.push(rows);
    }
    Ok(answers)
}

fn rows_of(reply: Reply<'_>) -> Rows {
    match reply {
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => items.map(row).collect(),
        Reply::Map(items) => {
            let items: Vec<_> = items.map(value).collect();
            items.chunks(2).map(<[_]>::to_vec).collect()
        }
        single => vec![row(single)],
    }
}

/// An element of an answer: its own elements, or itself.
fn row(reply: Reply<'_>) -> Vec<Option<String>> {
    match reply {
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Map(items) => {
            items.map(value).collect()
        }
        single => vec![value(single)],
    }
}

/// One text; what is nested deeper is written as its parts with spaces between them.
fn value(reply: Reply<'_>) -> Option<String> {
    Some(match reply {
        Reply::Null => return None,
        Reply::Simple(it)
        | Reply::Error(it)
        | Reply::Bulk(it)
        | Reply::BigNumber(it)
        | Reply::Verbatim(_, it) => text(it),
        Reply::Integer(it) => it.to_string(),
        Reply::Double(it) => it.to_string(),
        Reply::Boolean(it) => it.to_string(),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Map(items) => {
            let parts: Vec<_> = items.map(|it| value(it).unwrap_or_default()).collect();
            parts.join(" ")
        }
    })
}

/// Splits a line at spaces. In double quotes `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH` are what they are in C and
/// any other character after `\` is itself; in single quotes only `\'` is special. None where a
/// quote is not closed, or something stands right behind its end.
pub fn words(line: &str) -> Option<Vec<Vec<u8>>> {
    let (mut words, mut rest) = (Vec::new(), line.as_bytes());
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'"' | b'\'' => {
                    rest = quoted(byte, rest, &mut word)?;
                    if rest.first().is_some_and(|next| !next.is_ascii_whitespace()) {
                        return None;
                    }
                }
                byte if byte.is_ascii_whitespace() => break,
                byte => word.push(byte),
            }
        }
        words.push(word);
    }
}

/// Reads up to the closing quote; what follows it.
fn quoted<'l>(quote: u8, mut rest: &'l [u8], word: &mut Vec<u8>) -> Option<&'l [u8]> {
    loop {
        rest = match (quote, rest) {
            (_, [byte, after @ ..]) if *byte == quote => return Some(after),
            (b'"', [b'\\', b'x', high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let digits = std::str::from_utf8(&[*high, *low]).ok()?.to_owned();
                word.push(u8::from_str_radix(&digits, 16).ok()?);
                after
            }
            (b'"', [b'\\', byte, after @ ..]) => {
                word.push(escaped(*byte));
                after
            }
            (b'\'', [b'\\', b'\'', after @ ..]) => {
                word.push(b'\'');
                after
            }
            (_, [byte, after @ ..]) => {
                word.push(*byte);
                after
            }
            (_, []) => return None,
        };
    }
}

fn escaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<String>> {
        Some(words(line)?.iter().map(|word| text(word)).collect())
    }

    #[test]
    fn a_line_is_split_at_spaces_outside_quotes() {
        assert_eq!(split("  CONFIG  GET *\n").unwrap(), ["CONFIG", "GET", "*"]);
        assert_eq!(
            split(r#"SET k "a b\n\x41\"" '' 'c\'d\n'"#).unwrap()[2..],
            ["a b\nA\"", "", "c'd\\n"]
        );
        assert_eq!(split("").unwrap(), [""; 0]);
    }

    #[test]
    fn a_quote_that_does_not_end_or_ends_within_a_word_is_refused() {
        for line in ["SET k \"a", "SET k 'a", "SET \"k\"x", "\"\\"] {
            assert_eq!(split(line), None, "{line}");
        }
        assert!(commands(&["  ".to_owned()]).is_err());
    }

    #[test]
    fn a_reply_is_rows_by_element_or_entry() {
        let rows = |bytes: &[u8]| rows_of(codec::decode(bytes).unwrap().unwrap().1);
        let own = |it: &str| Some(it.to_owned());
        assert_eq!(rows(b"+OK\r\n"), [[own("OK")]]);
        assert_eq!(rows(b"_\r\n"), [[None]]);
        assert_eq!(rows(b"*2\r\n$1\r\na\r\n:7\r\n"), [[own("a")], [own("7")]]);
        assert_eq!(rows(b"*1\r\n*2\r\n+a\r\n*2\r\n+b\r\n+c\r\n"), [[own("a"), own("b c")]]);
        assert_eq!(
            rows(b"%2\r\n+a\r\n+1\r\n+b\r\n_\r\n"),
            [[own("a"), own("1")], [own("b"), None]]
        );
    }
}
