//! MariaDB's protocol by `mysql_common`, with what assay asks for too: no end packets after columns,
//! and no columns that the client knows.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use bytes::BytesMut;
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, Column, ComStmtExecuteRequestBuilder, HandshakePacket, HandshakeResponse,
    StmtPacket,
};
use mysql_common::proto::codec::PacketCodec;
use mysql_common::proto::{Binary, MyDeserialize, MySerialize};
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::{ServerSide, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{DATABASE, INPUT_BYTES, Load, Session, USER, ask, connect};

const PACKET_BYTES_MAX: u32 = 16 << 20;
const COM_STMT_PREPARE: u8 = 0x16;
/// First bytes of packets.
const OK: u8 = 0x00;
const END: u8 = 0xFE;
const ERROR: u8 = 0xFF;

struct Mysql {
    socket: TcpStream,
    codec: PacketCodec,
    input: BytesMut,
    output: BytesMut,
    packet: Vec<u8>,
    request: Vec<u8>,
    statement: u32,
    columns: Arc<[Column]>,
    caches_columns: bool,
}

/// One connection's work; how many answers it had.
pub async fn connection(load: Load, number: usize) -> Result<u64> {
    let mut session = Mysql {
        socket: connect(&load).await?,
        codec: PacketCodec::default(),
        input: BytesMut::with_capacity(INPUT_BYTES),
        output: BytesMut::new(),
        packet: Vec::new(),
        request: Vec::new(),
        statement: 0,
        columns: Arc::new([]),
        caches_columns: false,
    };
    session.log_in().await?;
    session.prepare("SELECT c FROM sbtest1 WHERE id=?").await?;
    ask(session, &load, number).await
}

impl Session for Mysql {
    async fn select(&mut self, id: u32) -> Result<bool> {
        let values = [Value::Int(id.into())];
        let (execute, _) = ComStmtExecuteRequestBuilder::new(self.statement).build(&values);
        self.request.clear();
        execute.serialize(&mut self.request);
        self.send().await?;
        self.receive().await?;
        // Their number, and whether they follow, where the client may know them.
        if !self.caches_columns || self.packet.get(1) == Some(&1) {
            for _ in 0..self.columns.len() {
                self.receive().await?;
            }
        }
        let mut has_row = false;
        loop {
            self.receive().await?;
            if self.packet[0] == END {
                return Ok(has_row);
            }
            let columns = Arc::clone(&self.columns);
            let row: RowDeserializer<ServerSide, Binary> = ParseBuf(&self.packet).parse(columns)?;
            let row: Row = row.into();
            has_row = matches!(row.as_ref(0), Some(Value::Bytes(bytes)) if !bytes.is_empty());
        }
    }
}

impl Mysql {
    async fn log_in(&mut self) -> Result<()> {
        self.receive().await?;
        let greeting: HandshakePacket<'_> = ParseBuf(&self.packet).parse(())?;
        let flags = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_DEPRECATE_EOF;
        let more = greeting.mariadb_ext_capabilities()
            & MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA;
        self.caches_columns = !more.is_empty();
        let response = HandshakeResponse::new(
            None::<&[u8]>,
            greeting.server_version_parsed().unwrap_or_default(),
            Some(USER.as_bytes()),
            Some(DATABASE.as_bytes()),
            Some(AuthPlugin::MysqlNativePassword),
            flags & greeting.capabilities(),
            None,
            PACKET_BYTES_MAX,
        )
        .with_mariadb_ext_capabilities(more);
        self.request.clear();
        response.serialize(&mut self.request);
        self.answer().await?;
        self.receive().await?;
        ensure!(self.packet[0] == OK, "MariaDB wants more than a user's name");
        Ok(())
    }

    async fn prepare(&mut self, text: &str) -> Result<()> {
        self.request.clear();
        self.request.push(COM_STMT_PREPARE);
        self.request.extend_from_slice(text.as_bytes());
        self.send().await?;
        self.receive().await?;
        let prepared: StmtPacket = ParseBuf(&self.packet).parse(())?;
        self.statement = prepared.statement_id();
        for _ in 0..prepared.num_params() {
            self.receive().await?;
        }
        let mut columns = Vec::new();
        for _ in 0..prepared.num_columns() {
            self.receive().await?;
            columns.push(Column::deserialize((), &mut ParseBuf(&self.packet))?);
        }
        self.columns = columns.into();
        Ok(())
    }

    /// Sends a request, which starts the numbers of packets anew.
    async fn send(&mut self) -> Result<()> {
        self.codec.reset_seq_id();
        self.answer().await
    }

    async fn answer(&mut self) -> Result<()> {
        self.codec.encode(&mut self.request.as_slice(), &mut self.output)?;
        self.socket.write_all(&self.output).await?;
        self.output.clear();
        Ok(())
    }

    /// Reads the next packet, which is not empty.
    async fn receive(&mut self) -> Result<()> {
        self.packet.clear();
        while !self.codec.decode(&mut self.input, &mut self.packet)? {
            self.input.reserve(INPUT_BYTES);
            let read = self.socket.read_buf(&mut self.input).await?;
            ensure!(read > 0, "the server closed the connection");
        }
        match self.packet.first() {
            None => bail!("MariaDB sent an empty packet"),
            Some(&ERROR) => bail!("MariaDB: {}", String::from_utf8_lossy(&self.packet[3..])),
            Some(_) => Ok(()),
        }
    }
}
