//! TLS with a server of a test, which has a certificate for `localhost` and 127.0.0.1.

use assay_runtime::{Proof, TlsConfig};
use assay_wire::Tls;

use crate::authority::Authority;

/// A whole check against an authority, by a name.
pub fn checked(authority: &Authority, host: &str) -> Option<Tls> {
    let config = TlsConfig::new(Proof::Name, Some(&authority.file())).unwrap();
    Some(Tls { config, host: host.to_owned(), is_optional: false })
}

/// Whoever answers is believed; without TLS if need be where `is_optional`.
pub fn believed(is_optional: bool) -> Option<Tls> {
    let config = TlsConfig::new(Proof::Nothing, None).unwrap();
    Some(Tls { config, host: "localhost".to_owned(), is_optional })
}

/// What was agreed on, if a handshake was.
pub fn agreed(tls: &Option<Tls>) -> Option<&str> {
    tls.as_ref().and_then(|tls| tls.config.agreed())
}
