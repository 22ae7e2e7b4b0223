//! Which server, and as whom.

use std::fmt;

use assay_runtime::Address;

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
}

impl fmt::Debug for Target {
    /// Without the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, user, password, database } = self;
        let password = password.as_ref().map(|_| "***");
        formatter
            .debug_struct("Target")
            .field("address", address)
            .field("user", user)
            .field("password", &password)
            .field("database", database)
            .finish()
    }
}
