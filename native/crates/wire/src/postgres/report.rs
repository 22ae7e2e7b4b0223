//! What a server says when something is wrong, or worth a notice.

use std::borrow::Cow;

use super::reader::Reader;
use super::wrong;
use crate::{ServerErrorKind, WireError};

/// An ErrorResponse or NoticeResponse: fields of a letter and a text each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'m> {
    /// Fields without the zero byte at the end.
    fields: &'m [u8],
}

impl<'m> Report<'m> {
    pub(super) fn decode(body: &'m [u8]) -> Result<Self, WireError> {
        let Some((0, fields)) = body.split_last() else {
            return Err(wrong("an error or notice without an end"));
        };
        let mut reader = Reader::new(fields, "ErrorResponse");
        while !reader.rest().is_empty() {
            reader.u8()?;
            reader.text()?;
        }
        Ok(Self { fields })
    }

    /// A field by its letter: `S` severity in the server's language, `V` severity, `C` SQLSTATE,
    /// `M` message, `D` detail, `H` hint; others are in the protocol's documentation.
    pub fn field(&self, letter: u8) -> Option<&'m [u8]> {
        let mut reader = Reader::new(self.fields, "ErrorResponse");
        while let (Ok(found), Ok(text)) = (reader.u8(), reader.text()) {
            if found == letter {
                return Some(text);
            }
        }
        None
    }

    fn words(&self, letter: u8) -> Cow<'m, str> {
        String::from_utf8_lossy(self.field(letter).unwrap_or_default())
    }

    /// The SQLSTATE; empty if there is none.
    pub fn code(&self) -> Cow<'m, str> {
        self.words(b'C')
    }

    /// The message, with its detail and hint if there are any.
    pub fn message(&self) -> String {
        let mut message = self.words(b'M').into_owned();
        for (letter, name) in [(b'D', "detail"), (b'H', "hint")] {
            if self.field(letter).is_some() {
                message.push_str(&format!(" ({name}: {})", self.words(letter)));
            }
        }
        message
    }

    /// Whether the server ends the session with it.
    pub fn is_end(&self) -> bool {
        // `V` is the same in all languages; servers before 9.6 have only `S`.
        let severity = self.field(b'V').or_else(|| self.field(b'S'));
        matches!(severity, Some(b"FATAL" | b"PANIC"))
    }

    /// As an error after which the session goes on.
    #[cold]
    pub fn error(&self) -> WireError {
        let kind = kind_of(self.field(b'C').unwrap_or_default());
        WireError::Server { code: self.code().into_owned(), message: self.message(), kind }
    }
}

/// What a SQLSTATE is to a workload. Source: PostgreSQL documentation, "Error Codes".
pub fn kind_of(sqlstate: &[u8]) -> ServerErrorKind {
    match sqlstate {
        b"40P01" => ServerErrorKind::Deadlock,
        b"40001" => ServerErrorKind::Conflict,
        b"55P03" => ServerErrorKind::LockTimeout,
        b"23505" => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    }
}
