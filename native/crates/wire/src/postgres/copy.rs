//! Simple queries, and COPY, which belongs to them.

use std::future::{Future as _, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::Poll;

use assay_runtime::{RuntimeError, sleep_until};

use super::codec::{self, Message};
use super::messages;
use super::session::{Session, receive, unexpected};
use super::wrong;
use crate::WireError;
use crate::sql::Completion;

/// Data is sent when so much of it has come together.
const SEND_BYTES: usize = 64 * 1024;
/// A pause that lets the loop ask the kernel which sockets are ready, as it does when nothing is
/// due.
const PAUSE_NS: u64 = 10_000;

impl Session {
    /// Loads rows with a `COPY ... FROM STDIN`; how many there were.
    ///
    /// `next_chunk` gets an empty buffer and fills it with rows in COPY's text format (columns
    /// separated by tabs, lines ended by a line feed, `\N` for null) or whatever the statement
    /// says; a row may be split between chunks. It returns false when there is no more.
    ///
    /// Notices are read between pieces of 64 KiB: a trigger that gives one per row can fill the
    /// sockets until neither side goes on; `SET client_min_messages = error` before.
    ///
    /// # Errors
    /// `Server` when a row is refused: none of them is kept then, and the rest is not asked for.
    /// `Protocol` when the statement is no COPY FROM STDIN; the session goes on.
    pub async fn copy_in(
        &mut self,
        statement: &str,
        mut next_chunk: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<u64, WireError> {
        self.begin()?;
        messages::query(&mut self.out, statement)?;
        self.send().await?;
        let mut error = None;
        let state = receive(&mut self.connection, &mut error, |message| match message {
            Message::CopyIn => Ok(ControlFlow::Break(())),
            _ => Ok(ControlFlow::Continue(())),
        });
        if let Some(state) = state.await? {
            let no_copy = || wrong(format!("this is no COPY ... FROM STDIN: {statement}"));
            self.finish(Some(state), Some(error.unwrap_or_else(no_copy)))?;
        }
        let mut chunk = Vec::new();
        let mut has_more = true;
        // A server that has reported an error takes the data no more and waits for no end of it.
        while has_more && !self.is_refused().await? {
            self.out.clear();
            while has_more && self.out.len() < SEND_BYTES {
                chunk.clear();
                has_more = next_chunk(&mut chunk);
                messages::copy_data(&mut self.out, &chunk)?;
            }
            if !has_more {
                self.out.extend_from_slice(&messages::COPY_DONE);
            }
            self.send().await?;
        }
        self.finish_batch().await.map(|completion| completion.affected)
    }

    /// Whether the server has reported an error meanwhile. Lets other tasks go on.
    async fn is_refused(&mut self) -> Result<bool, WireError> {
        let handle = self.connection.handle().clone();
        let clock = handle.clock();
        sleep_until(&handle, clock.ticks() + clock.ticks_of_ns(PAUSE_NS)).await;
        let read = {
            let mut more = pin!(self.connection.more());
            poll_fn(|context| Poll::Ready(more.as_mut().poll(context))).await
        };
        match read {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(RuntimeError::Closed)) => return Err(self.last_words().await),
            Poll::Ready(Err(error)) => return Err(error.into()),
        }
        while let Some((bytes, message)) = codec::next(self.connection.input())? {
            if let Message::Error(_) = message {
                return Ok(true);
            }
            self.connection.consume(bytes);
        }
        Ok(false)
    }

    /// Reads the answers to simple queries. A COPY that nobody feeds is ended with an error.
    pub(super) async fn finish_batch(&mut self) -> Result<Completion, WireError> {
        let (mut error, mut completion) = (None, Completion::default());
        let mut returns_rows = false;
        let mut has_copied_out = false;
        let state = loop {
            let state = receive(&mut self.connection, &mut error, |message| {
                match message {
                    Message::RowDescription(_) => returns_rows = true,
                    Message::DataRow(_) => completion.rows += 1,
                    Message::CommandComplete { .. } if returns_rows => returns_rows = false,
                    Message::CommandComplete { tag } => {
                        completion.affected += codec::rows_of_tag(tag);
                    }
                    Message::CopyIn => return Ok(ControlFlow::Break(())),
                    Message::CopyOut => has_copied_out = true,
                    Message::EmptyQuery
                    | Message::CopyData(_)
                    | Message::CopyDone
                    | Message::Error(_) => {}
                    other => return Err(unexpected(&other, "Query")),
                }
                Ok(ControlFlow::Continue(()))
            });
            if let Some(state) = state.await? {
                break state;
            }
            self.out.clear();
            messages::copy_fail(&mut self.out, "COPY FROM STDIN needs a copy_in of its own")?;
            self.send().await?;
        };
        if has_copied_out {
            error.get_or_insert_with(|| wrong("COPY TO STDOUT is read by nobody; use SELECT"));
        }
        self.finish(Some(state), error)?;
        Ok(completion)
    }
}
