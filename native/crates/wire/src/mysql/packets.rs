//! What is not a row: greeting, login, OK, ERR, and the answer to a preparation.

use super::bytes::{Bytes, put_string, whole};
use super::protocol;
use crate::{ServerErrorKind, WireError};

/// What client and server can do; each side names its own, and what both named is used. The upper
/// half is `MariaDB`'s own.
pub mod capability {
    /// The old name of a client of `MySQL`; `MariaDB` leaves it out to say that it is itself.
    pub const MYSQL: u64 = 1;
    /// Affected rows are those that matched, not those that changed.
    pub const FOUND_ROWS: u64 = 1 << 1;
    /// The login names a database.
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    /// The protocol of version 4.1.
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// The rest of the login is spoken over TLS.
    pub const SSL: u64 = 1 << 11;
    /// OK and EOF tell the state of the transaction.
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// Passwords as of 4.1.
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    /// Several statements in one text.
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    /// Several results in one answer.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// The same of prepared statements.
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    /// Named methods of authentication.
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    /// An answer to an authentication may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    /// Rows end with an OK packet, and no packet stands between columns and rows.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// The columns of a prepared statement are not repeated in every answer.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

/// More results follow.
pub const MORE_RESULTS: u16 = 8;
/// utf8mb4, in its collation that all versions know by this number.
const UTF8MB4: u8 = 45;
/// The largest packet that the client says it takes.
const PACKET_BYTES: u32 = 1 << 30;

/// What a server says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, as it writes it.
    pub version: String,
    /// What it can do.
    pub capabilities: u64,
    /// The number of the connection, as in `KILL`.
    pub connection: u32,
    /// Random bytes for the authentication; 20 where the method is as old as 4.1.
    pub scramble: Vec<u8>,
    /// The method that most users have.
    pub method: String,
}

impl Greeting {
    /// Reads the first packet of a server.
    ///
    /// # Errors
    /// `Protocol` when it is none, or of a protocol before 4.1; the server's own error when it says
    /// one, such as that it has too many connections.
    pub fn read(payload: &[u8]) -> Result<Self, WireError> {
        match payload.first() {
            Some(10) => whole(Self::version_10(Bytes(&payload[1..])), "the greeting"),
            Some(0xFF) => Err(server_error(payload)),
            Some(version) => Err(protocol(format!("protocol version {version}, not 10"))),
            None => Err(protocol("an empty greeting")),
        }
        .and_then(|greeting| {
            if greeting.capabilities & capability::PROTOCOL_41 != 0 {
                return Ok(greeting);
            }
            Err(protocol("a server from before protocol 4.1"))
        })
    }

    fn version_10(mut bytes: Bytes<'_>) -> Option<Self> {
        let version = lossy(bytes.until_zero()?);
        let connection = bytes.u32()?;
        let mut scramble = bytes.take(8)?.to_vec();
        bytes.u8()?;
        let mut capabilities = u64::from(bytes.u16()?);
        let (_charset, _status) = (bytes.u8()?, bytes.u16()?);
        capabilities |= u64::from(bytes.u16()?) << 16;
        let scramble_bytes = usize::from(bytes.u8()?);
        bytes.take(6)?;
        let extended = bytes.u32()?;
        if capabilities & capability::MYSQL == 0 {
            capabilities |= u64::from(extended) << 32;
        }
        if capabilities & capability::SECURE_CONNECTION != 0 {
            scramble.extend_from_slice(bytes.take(scramble_bytes.saturating_sub(8).max(13))?);
            // The last byte is a zero that belongs to no scramble.
            scramble.pop();
        }
        let mut method = "mysql_native_password".to_owned();
        if capabilities & capability::PLUGIN_AUTH != 0 {
            // Some versions leave out the zero at its end.
            method = lossy(bytes.until_zero().unwrap_or_else(|| bytes.rest()));
        }
        Some(Self { version, capabilities, connection, scramble, method })
    }
}

/// What a client answers to a greeting.
#[derive(Clone, Copy, Debug)]
pub struct Login<'l> {
    /// What is used of what the server can do.
    pub capabilities: u64,
    /// Who logs in.
    pub user: &'l str,
    /// The database to work in; empty for none.
    pub database: &'l str,
    /// The method of authentication.
    pub method: &'l str,
    /// Its first answer.
    pub proof: &'l [u8],
}

impl Login<'_> {
    /// Writes it, without a header. Names end at their first zero byte, as the protocol has it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_head(out, self.capabilities);
        put_name(out, self.user);
        put_string(out, self.proof);
        if self.capabilities & capability::CONNECT_WITH_DB != 0 {
            put_name(out, self.database);
        }
        if self.capabilities & capability::PLUGIN_AUTH != 0 {
            put_name(out, self.method);
        }
    }
}

/// Writes how a login begins, which alone is a request for TLS.
pub fn put_head(out: &mut Vec<u8>, capabilities: u64) {
    out.extend_from_slice(&(capabilities as u32).to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend(name.bytes().take_while(|&byte| byte != 0));
    out.push(0);
}

/// What a server says while somebody logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn<'p> {
    /// The user is in.
    Welcome,
    /// Another method, with random bytes of its own.
    Switch {
        /// Its name.
        method: &'p str,
        /// The random bytes, as they came.
        scramble: &'p [u8],
    },
    /// Something within the method.
    Data(&'p [u8]),
}

impl<'p> Turn<'p> {
    /// Reads a packet of the login.
    ///
    /// # Errors
    /// `Protocol` when it is none of the above, and the server's own error.
    pub fn read(payload: &'p [u8]) -> Result<Self, WireError> {
        let (Some(kind), rest) = (payload.first(), payload.get(1..).unwrap_or_default()) else {
            return Err(protocol("an empty packet in the login"));
        };
        match kind {
            0x00 => Ok(Self::Welcome),
            0x01 => Ok(Self::Data(rest)),
            0xFE if rest.is_empty() => {
                Ok(Self::Switch { method: "mysql_old_password", scramble: &[] })
            }
            0xFE => {
                let mut bytes = Bytes(rest);
                let method = whole(bytes.until_zero(), "the switch of the authentication")?;
                let method = str::from_utf8(method)
                    .map_err(|_| protocol("the name of an authentication is no text"))?;
                Ok(Self::Switch { method, scramble: bytes.rest() })
            }
            0xFF => Err(server_error(payload)),
            kind => Err(protocol(format!("a packet of kind {kind:#04x} in the login"))),
        }
    }
}

/// The end of a statement or of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Rows that matched.
    pub affected: u64,
    /// Whether more results follow.
    pub has_more: bool,
}

impl Done {
    /// Reads an OK packet, whatever its first byte is.
    ///
    /// # Errors
    /// `Protocol` when it ends too early.
    #[inline]
    pub fn read(payload: &[u8]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload);
        let read = (|| {
            bytes.u8()?;
            let (affected, _insert_id) = (bytes.length()?, bytes.length()?);
            Some((affected, bytes.u16()?))
        })();
        let (affected, status) = whole(read, "an OK packet")?;
        Ok(Self { affected, has_more: status & MORE_RESULTS != 0 })
    }

    /// Reads an EOF packet, as servers sent before they had OK packets there.
    ///
    /// # Errors
    /// `Protocol` when it ends too early.
    pub fn read_eof(payload: &[u8]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload.get(1..).unwrap_or_default());
        let status = whole(bytes.u16().and_then(|_warnings| bytes.u16()), "an EOF packet")?;
        Ok(Self { affected: 0, has_more: status & MORE_RESULTS != 0 })
    }
}

/// Whether a packet is an old EOF: nothing else begins so and is so short.
#[inline]
pub fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&0xFE) && payload.len() < 9
}

/// What a server says about a statement it has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its number with the server.
    pub id: u32,
    /// Columns of its rows; their definitions follow.
    pub columns: u16,
    /// Its parameters; their definitions follow, before those of the columns.
    pub parameters: u16,
}

impl Prepared {
    /// Reads the first packet of the answer.
    ///
    /// # Errors
    /// `Protocol` when it is another packet, and the server's own error.
    pub fn read(payload: &[u8]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload);
        match bytes.u8() {
            Some(0) => {}
            Some(0xFF) => return Err(server_error(payload)),
            kind => return Err(protocol(format!("{kind:?} begins the answer to a preparation"))),
        }
        let read =
            (|| Some(Self { id: bytes.u32()?, columns: bytes.u16()?, parameters: bytes.u16()? }))();
        whole(read, "the answer to a preparation")
    }
}

/// The error that an ERR packet tells.
#[cold]
pub fn server_error(payload: &[u8]) -> WireError {
    let mut bytes = Bytes(payload.get(1..).unwrap_or_default());
    let Some(code) = bytes.u16() else {
        return protocol("an ERR packet ends too early");
    };
    // The SQL state, behind a mark; not there before the login.
    if bytes.0.first() == Some(&b'#') {
        bytes.take(6);
    }
    let kind = match code {
        1213 => ServerErrorKind::Deadlock,
        1020 => ServerErrorKind::Conflict,
        1205 => ServerErrorKind::LockTimeout,
        1062 | 1586 => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    };
    WireError::Server { code: code.to_string(), message: lossy(bytes.rest()), kind }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
