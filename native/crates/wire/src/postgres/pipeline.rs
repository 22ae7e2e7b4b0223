//! Several requests at once.

use std::ops::ControlFlow;

use super::codec::Message;
use super::messages;
use super::rows::Row;
use super::session::{Session, prepared, receive, unexpected};
use crate::WireError;
use crate::sql::{Completion, Statement, Value};

/// Requests that are sent without reading answers, in bytes: less than sockets hold. A server that
/// cannot get rid of its answers reads no requests, so that both would wait for ever.
const WINDOW_BYTES: usize = 32 * 1024;

impl Session {
    /// Runs several prepared statements with one write and one Sync: what pgbench and libpq call a
    /// pipeline. Outside a transaction they are one transaction together. `visit` gets each row
    /// with the place of its request. The completions are in the requests' order.
    ///
    /// Requests of over 32 KiB in sum take a write per 32 KiB; the answers are read in between.
    ///
    /// # Errors
    /// As for `run`: the first error of the server, after which the other requests were not run.
    pub async fn pipeline(
        &mut self,
        requests: &[(Statement, &[Value<'_>])],
        mut visit: impl FnMut(usize, &Row<'_>) -> Result<(), WireError>,
    ) -> Result<&[Completion], WireError> {
        self.begin()?;
        self.completions.clear();
        let (mut error, mut visit_error) = (None, None);
        let mut sent = 0;
        while sent < requests.len() && error.is_none() {
            self.out.clear();
            let count = self.fill_window(&requests[sent..])?;
            if sent == 0 {
                // What does not fit is found before anything is sent.
                for (statement, values) in &requests[count..] {
                    prepared(&self.statements, *statement)?.check(values)?;
                }
            }
            sent += count;
            let is_last = sent == requests.len();
            let end = if is_last { messages::SYNC } else { messages::FLUSH };
            self.out.extend_from_slice(&end);
            self.send().await?;
            let wanted = if is_last { usize::MAX } else { sent };
            let visit = |place: usize, row: &Row<'_>| {
                if visit_error.is_none() {
                    visit_error = visit(place, row).err();
                }
            };
            if self.read_window(requests, wanted, &mut error, visit).await? {
                self.finish(None, error.or(visit_error))?;
                return Ok(&self.completions);
            }
        }
        // Nothing to run, or an error before the end: the server waits for a Sync.
        self.out.clear();
        self.out.extend_from_slice(&messages::SYNC);
        self.send().await?;
        self.read_window(requests, usize::MAX, &mut error, |_, _| ()).await?;
        self.finish(None, error.or(visit_error))?;
        Ok(&self.completions)
    }

    /// Encodes requests until they are large enough; how many.
    fn fill_window(&mut self, requests: &[(Statement, &[Value<'_>])]) -> Result<usize, WireError> {
        for (count, (statement, values)) in requests.iter().enumerate() {
            let before = self.out.len();
            prepared(&self.statements, *statement)?.request(statement.0, &mut self.out, values)?;
            if self.out.len() > WINDOW_BYTES && count > 0 {
                self.out.truncate(before);
                return Ok(count);
            }
        }
        Ok(requests.len())
    }

    /// Reads answers until there are so many completions, or an error, and the server has yet to
    /// see the Sync (false), or until it is ready for the next request (true).
    async fn read_window(
        &mut self,
        requests: &[(Statement, &[Value<'_>])],
        wanted: usize,
        error: &mut Option<WireError>,
        mut visit: impl FnMut(usize, &Row<'_>),
    ) -> Result<bool, WireError> {
        let Self { connection, statements, completions, .. } = self;
        let mut rows = 0;
        let state = receive(connection, error, |message| {
            if let Message::Error(_) = message {
                let is_window = wanted < usize::MAX;
                let stop = ControlFlow::Break(());
                return Ok(if is_window { stop } else { ControlFlow::Continue(()) });
            }
            let place = completions.len();
            let Some((statement, _)) = requests.get(place) else {
                return Err(unexpected(&message, "Sync"));
            };
            let prepared = prepared(statements, *statement)?;
            match message {
                Message::DataRow(fields) => {
                    rows += 1;
                    visit(place, &Row::new(fields, &prepared.kinds)?);
                }
                Message::CommandComplete { tag } => {
                    completions.push(prepared.completion(rows, tag));
                    rows = 0;
                }
                Message::EmptyQuery => completions.push(Completion::default()),
                Message::BindComplete => {}
                other => return Err(unexpected(&other, "Execute")),
            }
            let is_enough = completions.len() >= wanted;
            Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        let Some(state) = state.await? else { return Ok(false) };
        self.ready(state);
        Ok(true)
    }
}
