//! PostgreSQL's protocol by `postgres-protocol`.

use anyhow::{Context, Result, bail};
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{DATABASE, INPUT_BYTES, Load, Session, USER, ask, connect};

const STATEMENT: &str = "point";
const BINARY: i16 = 1;

struct Postgres {
    socket: TcpStream,
    input: BytesMut,
    output: BytesMut,
}

/// One connection's work; how many answers it had.
pub async fn connection(load: Load, number: usize) -> Result<u64> {
    let mut session = Postgres {
        socket: connect(&load).await?,
        input: BytesMut::with_capacity(INPUT_BYTES),
        output: BytesMut::new(),
    };
    let names = [("user", USER), ("database", DATABASE)];
    frontend::startup_message(names, &mut session.output)?;
    session.exchange().await?;
    let text = "SELECT c FROM sbtest1 WHERE id=$1";
    frontend::parse(STATEMENT, text, [], &mut session.output)?;
    frontend::sync(&mut session.output);
    session.exchange().await?;
    ask(session, &load, number).await
}

impl Session for Postgres {
    async fn select(&mut self, id: u32) -> Result<bool> {
        let write = |id: u32, output: &mut BytesMut| {
            output.put_u32(id);
            Ok(IsNull::No)
        };
        frontend::bind("", STATEMENT, [BINARY], [id], write, [BINARY], &mut self.output)
            .map_err(|_| anyhow::anyhow!("a request that cannot be written"))?;
        frontend::execute("", 0, &mut self.output)?;
        frontend::sync(&mut self.output);
        self.exchange().await
    }
}

impl Postgres {
    /// Sends what was written, and reads until the server is ready; whether a row came.
    async fn exchange(&mut self) -> Result<bool> {
        self.socket.write_all(&self.output).await?;
        self.output.clear();
        let mut has_row = false;
        loop {
            match Message::parse(&mut self.input)? {
                None => {
                    self.input.reserve(INPUT_BYTES);
                    let read = self.socket.read_buf(&mut self.input).await?;
                    anyhow::ensure!(read > 0, "the server closed the connection");
                }
                Some(Message::ReadyForQuery(_)) => return Ok(has_row),
                Some(Message::DataRow(row)) => {
                    let range = row.ranges().next()?.flatten().context("a row without a value")?;
                    has_row = !row.buffer()[range].is_empty();
                }
                Some(Message::ErrorResponse(error)) => {
                    let fields: Vec<_> =
                        error.fields().map(|field| Ok(field.value_bytes().to_vec())).collect()?;
                    bail!("PostgreSQL: {}", String::from_utf8_lossy(&fields.join(&b' ')));
                }
                Some(_) => {}
            }
        }
    }
}
