//! Rows of texts, for questions that are asked once: every column as the server writes it.

use super::answer::{Answer, Event};
use super::bytes::{Bytes, whole};
use super::login::receive;
use super::protocol;
use super::session::Session;
use super::values::put_query;
use crate::WireError;
use crate::sql::{self, Completion};

/// NULL stands where a length would.
const NULL: u8 = 0xFB;

impl sql::Ask for Session {
    async fn ask(
        &mut self,
        text: &str,
        mut visit: impl FnMut(&[Option<&[u8]>]),
    ) -> Result<Completion, WireError> {
        self.begin()?;
        let due = put_query(&mut self.out, text);
        self.packets.expect(due);
        self.send().await?;
        let Self { connection, packets, unread, shape, .. } = self;
        let mut answer = Answer::new(*shape);
        let outcome = receive(connection, packets, |payload| {
            Ok(match answer.take(payload, unread)? {
                Event::Nothing => None,
                Event::Row(payload) => {
                    visit(&columns(payload, unread.get().len())?);
                    None
                }
                Event::End(completion) => Some(Ok(completion)),
                Event::Failed(error) => Some(Err(error)),
            })
        });
        let outcome = outcome.await;
        self.settle(outcome)
    }
}

/// The columns of a row of texts.
fn columns(payload: &[u8], count: usize) -> Result<Vec<Option<&[u8]>>, WireError> {
    let (mut bytes, mut columns) = (Bytes(payload), Vec::new());
    while !bytes.0.is_empty() {
        if bytes.0[0] == NULL {
            bytes.u8();
            columns.push(None);
        } else {
            columns.push(Some(whole(bytes.string(), "a row of texts")?));
        }
    }
    if columns.len() != count {
        return Err(protocol(format!("a row has {} texts, not {count}", columns.len())));
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_its_texts_and_nulls_and_as_many_as_there_are_columns() {
        let row = [2, b'a', b'b', 0xFB, 0];
        assert_eq!(columns(&row, 3).unwrap(), [Some(&b"ab"[..]), None, Some(&b""[..])]);
        assert!(columns(&row, 2).is_err() && columns(&row, 4).is_err());
        for end in 1..3 {
            assert!(columns(&row[..end], 1).is_err(), "cut at {end}");
        }
        assert!(columns(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1).is_err());
    }
}
