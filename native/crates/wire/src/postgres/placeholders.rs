//! `?` becomes `$1`, `$2`, ...

/// A statement's text with PostgreSQL's placeholders, and how many there are. A `?` in a quoted
/// text, a quoted name, a dollar-quoted text or a comment is none.
///
/// Source: PostgreSQL documentation, "Lexical Structure". An operator with a `?` in its name cannot
/// be written; `jsonb_exists` and its like can.
pub fn numbered(text: &str) -> (String, usize) {
    let bytes = text.as_bytes();
    let mut numbered = String::with_capacity(text.len() + 8);
    let (mut place, mut copied, mut count) = (0, 0, 0);
    while place < bytes.len() {
        let after = match bytes[place] {
            b'?' => {
                count += 1;
                numbered.push_str(&text[copied..place]);
                numbered.push_str(&format!("${count}"));
                copied = place + 1;
                place + 1
            }
            b'\'' => after_quote(bytes, place, has_escapes(bytes, place)),
            b'"' => after_quote(bytes, place, false),
            b'$' => after_dollar(bytes, place),
            b'-' if bytes[place..].starts_with(b"--") => after_line(bytes, place),
            b'/' if bytes[place..].starts_with(b"/*") => after_comment(bytes, place),
            _ => place + 1,
        };
        place = after;
    }
    numbered.push_str(&text[copied..]);
    (numbered, count)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether a quote at `place` follows an `E` that is a word of its own: then `\'` is no end.
fn has_escapes(bytes: &[u8], place: usize) -> bool {
    let before = &bytes[..place];
    match before {
        [.., earlier, b'e' | b'E'] => !is_word(*earlier),
        [b'e' | b'E'] => true,
        _ => false,
    }
}

/// Without escapes, a doubled quote inside ends one text and opens the next, which comes to the
/// same.
fn after_quote(bytes: &[u8], place: usize, has_escapes: bool) -> usize {
    let quote = bytes[place];
    let mut at = place + 1;
    while at < bytes.len() {
        let is_end = bytes[at] == quote;
        let is_doubled = is_end && bytes.get(at + 1) == Some(&quote);
        if has_escapes && (is_doubled || bytes[at] == b'\\') {
            at += 2;
        } else if is_end {
            return at + 1;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn after_dollar(bytes: &[u8], place: usize) -> usize {
    if place > 0 && is_word(bytes[place - 1]) {
        return place + 1; // Part of a name.
    }
    let rest = &bytes[place + 1..];
    let tag = rest.iter().take_while(|&&byte| is_word(byte) && byte != b'$').count();
    if rest.get(tag) != Some(&b'$') || rest[0].is_ascii_digit() {
        return place + 1;
    }
    let quote = &bytes[place..place + tag + 2];
    let inside = place + quote.len();
    let length = bytes[inside..].windows(quote.len()).position(|window| window == quote);
    length.map_or(bytes.len(), |length| inside + length + quote.len())
}

fn after_line(bytes: &[u8], place: usize) -> usize {
    let length = bytes[place..].iter().position(|&byte| byte == b'\n');
    length.map_or(bytes.len(), |length| place + length)
}

/// Comments of this kind nest.
fn after_comment(bytes: &[u8], place: usize) -> usize {
    let (mut at, mut depth) = (place, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_but_for_its_placeholders_stays(text in "[?'\"$a/*\\\\\\-Ee1\né ]{0,40}") {
            let (numbered, count) = numbered(&text);
            let mut back = numbered;
            for number in (1..=count).rev() {
                back = back.replacen(&format!("${number}"), "?", 1);
            }
            // A text may have a `$1` of its own: then the places differ, but not the length.
            prop_assert_eq!(back.len(), text.len());
            prop_assert!(count <= text.matches('?').count());
        }
    }

    #[test]
    fn question_marks_are_numbered_and_quoted_ones_stay() {
        for (text, expected, count) in [
            ("SELECT 1", "SELECT 1", 0),
            ("SELECT ?, ?", "SELECT $1, $2", 2),
            ("SELECT 'a?''?b', ?", "SELECT 'a?''?b', $1", 1),
            (r"SELECT '\', ?", r"SELECT '\', $1", 1),
            (r"SELECT E'\'?', ?", r"SELECT E'\'?', $1", 1),
            (r"SELECT E'a''\'?', ?", r"SELECT E'a''\'?', $1", 1),
            (r"SELECT type'\', ?", r"SELECT type'\', $1", 1),
            (r#"SELECT "a?""?" = ?"#, r#"SELECT "a?""?" = $1"#, 1),
            ("SELECT $$?$$, $x$ $$?$x$, ?", "SELECT $$?$$, $x$ $$?$x$, $1", 1),
            ("SELECT a$b$ + ?", "SELECT a$b$ + $1", 1),
            ("SELECT ? -- ?\n, ?", "SELECT $1 -- ?\n, $2", 2),
            ("SELECT /* ? /* ? */ ? */ ?", "SELECT /* ? /* ? */ ? */ $1", 1),
            ("SELECT 4/2-?", "SELECT 4/2-$1", 1),
            ("SELECT 'é?', ?", "SELECT 'é?', $1", 1),
            ("'?", "'?", 0),
            (r"E'\", r"E'\", 0),
            ("$?", "$$1", 1),
            ("$$?", "$$?", 0),
            ("/*?", "/*?", 0),
            ("?", "$1", 1),
            ("", "", 0),
        ] {
            assert_eq!(numbered(text), (expected.to_owned(), count), "{text}");
        }
    }
}
