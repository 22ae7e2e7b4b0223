//! Several requests in one write.

use super::Session;
use super::rows::Row;
use crate::WireError;
use crate::sql::{Completion, Statement, Value};

/// What a pipeline sends before it reads: so much finds room in the kernel, even while the server
/// reads nothing because nobody reads its answers.
const BURST_BYTES: usize = 16 * 1024;

impl Session {
    /// Runs several prepared statements, each with its values: all are sent in one write, and their
    /// answers read in order. More than 16 KiB of requests are sent in several writes.
    ///
    /// `visit` gets each row with the number of its request; `ended` the end of each. An error of
    /// the server ends one request, and the others run all the same.
    ///
    /// # Errors
    /// What ends the session, and the wrong number of values, before anything of that burst is sent.
    /// The first error of `visit`, after all answers were read.
    pub async fn pipeline<'v>(
        &mut self,
        requests: impl IntoIterator<Item = (Statement, &'v [Value<'v>])>,
        mut visit: impl FnMut(usize, &Row<'_>) -> Result<(), WireError>,
        mut ended: impl FnMut(usize, Result<Completion, WireError>),
    ) -> Result<(), WireError> {
        self.begin()?;
        self.sent.clear();
        let (mut number, mut failed) = (0, None);
        let mut requests = requests.into_iter();
        loop {
            let (count, bytes) = self.fill(&mut requests)?;
            if count == 0 {
                self.trim();
                return failed.map_or(Ok(()), Err);
            }
            self.send_first(bytes).await?;
            for place in 0..count {
                let (statement, due) = self.sent[place];
                self.packets.expect(due);
                let mut visit_one = |row: &Row<'_>| {
                    if failed.is_none() {
                        failed = visit(number, row).err();
                    }
                    Ok(())
                };
                let outcome = self.answer(statement, &mut visit_one).await;
                ended(number, self.fate(outcome)?);
                number += 1;
            }
            self.is_astray = false;
            self.sent.drain(..count);
            self.out.drain(..bytes);
        }
    }

    /// Adds requests to the output until it is a burst; how many of the requests are that, and how
    /// many bytes. One that makes it too large waits for the next burst: while a large request is
    /// sent nobody may have to read an answer.
    fn fill<'v>(
        &mut self,
        requests: &mut impl Iterator<Item = (Statement, &'v [Value<'v>])>,
    ) -> Result<(usize, usize), WireError> {
        while self.out.len() < BURST_BYTES
            && let Some((statement, values)) = requests.next()
        {
            let before = self.out.len();
            match self.put(statement, values) {
                Ok(due) => self.sent.push((statement.0, due)),
                Err(error) => {
                    // Types that were written and will not be sent are to be written again.
                    for &(statement, _) in &self.sent {
                        self.statements[statement].parameters.tell_again();
                    }
                    return Err(error);
                }
            }
            if self.out.len() > BURST_BYTES && self.sent.len() > 1 {
                return Ok((self.sent.len() - 1, before));
            }
        }
        Ok((self.sent.len(), self.out.len()))
    }
}
