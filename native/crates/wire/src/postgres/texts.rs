//! Rows of texts, for questions that are asked once: every column as the server writes it.

use std::ops::ControlFlow;

use super::codec::{self, Message};
use super::messages;
use super::session::{Session, receive, unexpected};
use crate::WireError;
use crate::sql::{self, Completion};

impl sql::Ask for Session {
    async fn ask(
        &mut self,
        text: &str,
        mut visit: impl FnMut(&[Option<&[u8]>]),
    ) -> Result<Completion, WireError> {
        self.begin()?;
        messages::query(&mut self.out, text)?;
        self.send().await?;
        let (mut error, mut completion) = (None, Completion::default());
        let state = receive(&mut self.connection, &mut error, |message| {
            match message {
                Message::DataRow(fields) => {
                    completion.rows += 1;
                    visit(&fields.iter().collect::<Vec<_>>());
                }
                Message::CommandComplete { tag } => completion.affected = codec::rows_of_tag(tag),
                Message::RowDescription(_) | Message::EmptyQuery | Message::Error(_) => {}
                other => return Err(unexpected(&other, "a question")),
            }
            Ok(ControlFlow::Continue(()))
        });
        let state = state.await?;
        self.finish(state, error)?;
        Ok(completion)
    }
}
