//! The JSON lines on standard output.

use std::io::{ErrorKind, Stdout, Write};

use anyhow::anyhow;
use assay_measure::{Interval, Listener};
use serde::Serialize;

use crate::failure::Failure;
use crate::protocol::response::{Line, Phase};

/// Writes one message per line, flushed, so that a reader sees each as it happens.
pub struct Output {
    stdout: Stdout,
    /// Kept, so that a line of no new length is written without an allocation.
    line: Vec<u8>,
}

impl Output {
    /// Takes standard output.
    pub fn new(stdout: Stdout) -> Self {
        Self { stdout, line: Vec::new() }
    }

    /// Writes one message.
    pub fn write(&mut self, kind: &str, data: &impl Serialize) -> Result<(), Failure> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Line { kind, data })
            .map_err(|error| anyhow!(error).context(format!("encoding a `{kind}` message")))?;
        self.line.push(b'\n');
        let mut stdout = self.stdout.lock();
        stdout.write_all(&self.line).and_then(|()| stdout.flush()).map_err(|error| {
            if error.kind() == ErrorKind::BrokenPipe {
                Failure::ReaderGone
            } else {
                anyhow!(error).context("writing to standard output").into()
            }
        })
    }
}

impl Listener for Output {
    fn phase(&mut self, name: &'static str) -> anyhow::Result<()> {
        Ok(self.write("phase", &Phase { name })?)
    }

    fn interval(&mut self, interval: &Interval<'_>) -> anyhow::Result<()> {
        Ok(self.write("interval", interval)?)
    }
}
