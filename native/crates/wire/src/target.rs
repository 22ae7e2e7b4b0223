//! Which server, and as whom.

use std::fmt;

use assay_runtime::{Address, Connection, RuntimeError, TlsConfig};

use crate::WireError;

/// What a session needs to know to log in.
#[derive(Clone)]
pub struct Target {
    /// Where the server is.
    pub address: Address,
    /// The user's name.
    pub user: String,
    /// The password; none is not the same as an empty one to some servers.
    pub password: Option<String>,
    /// The database to work in, or its number; empty for the server's default.
    pub database: String,
    /// TLS; none to speak without.
    pub tls: Option<Tls>,
}

/// TLS with a server.
#[derive(Clone, Debug)]
pub struct Tls {
    /// How it is spoken. Says what was agreed on once somebody has logged in.
    pub config: TlsConfig,
    /// The server's name or address, as it stands in its certificate.
    pub host: String,
    /// Whether to go on without where the server of MySQL's or PostgreSQL's protocol has none.
    pub is_optional: bool,
}

impl Target {
    /// The TLS that is to be spoken: none over a Unix socket, where nobody reads along.
    pub(crate) fn encryption(&self) -> Option<&Tls> {
        self.tls.as_ref().filter(|_| matches!(self.address, Address::Tcp(_)))
    }

    /// Whether what is said without encryption crosses a network, where others may read it.
    pub(crate) fn is_afar(&self) -> bool {
        matches!(&self.address, Address::Tcp(address) if !address.ip().is_loopback())
    }
}

impl Tls {
    /// Speaks TLS from now on.
    pub(crate) async fn start(&self, connection: &mut Connection) -> Result<(), WireError> {
        Ok(connection.start_tls(&self.config, &self.host).await?)
    }

    /// What to do about a server that has no TLS.
    pub(crate) fn do_without(&self) -> Result<(), WireError> {
        if self.is_optional {
            return Ok(());
        }
        let why = "the server has none; next: turn it on there, or give sslmode=disable".to_owned();
        Err(RuntimeError::Tls { host: self.host.clone(), why }.into())
    }
}

/// Why a password is not sent as it is.
pub(crate) const CROSSES: &str = ", across a network that others may read; next: give \
                                  sslmode=verify-full, or reach the server through a tunnel";

/// What helps where a server lets nobody in without TLS.
pub(crate) const GIVE_SSLMODE: &str = "; next: give sslmode=require, verify-ca or verify-full";

impl fmt::Debug for Target {
    /// Without the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, user, password, database, tls } = self;
        let password = password.as_ref().map(|_| "***");
        formatter
            .debug_struct("Target")
            .field("address", address)
            .field("user", user)
            .field("password", &password)
            .field("database", database)
            .field("tls", tls)
            .finish()
    }
}
