//! TLS as a request asks for it.

use assay_runtime::{Proof, RuntimeError, TlsConfig};
use assay_wire::Tls;

use crate::failure::Failure;
use crate::protocol::request::{LoadProtocol, LoadSslMode, LoadTarget};

/// What connections with the server speak; none without TLS. What cannot be done as asked is an
/// error: nothing is encrypted less, or proven less, than was written.
pub fn of(asked: &LoadTarget) -> Result<Option<Tls>, Failure> {
    let (proof, is_optional) = match asked.sslmode {
        LoadSslMode::Disable => (None, false),
        LoadSslMode::Prefer => (Some(Proof::Nothing), true),
        LoadSslMode::Require => (Some(Proof::Nothing), false),
        LoadSslMode::VerifyCa => (Some(Proof::Authority), false),
        LoadSslMode::VerifyFull => (Some(Proof::Name), false),
    };
    let is_checked = matches!(proof, Some(Proof::Authority | Proof::Name));
    if asked.sslrootcert.is_some() && !is_checked {
        return Err(Failure::usage(
            "sslrootcert is given, and sslmode is one that asks for no certificate: give \
             sslmode=verify-ca or verify-full",
        ));
    }
    let Some(proof) = proof else { return Ok(None) };
    if asked.protocol == LoadProtocol::Memcached {
        return Err(Failure::usage("no TLS is spoken with memcached here: leave out sslmode"));
    }
    if asked.socket.is_some() && !is_optional {
        return Err(Failure::usage("no TLS is spoken over a Unix socket: leave out sslmode"));
    }
    let can_ask = matches!(asked.protocol, LoadProtocol::Mysql | LoadProtocol::Postgresql);
    if is_optional && !can_ask {
        return Err(Failure::usage(format!(
            "a server of {:?} cannot be asked whether it has TLS: sslmode is disable, require, \
             verify-ca or verify-full",
            asked.protocol
        )));
    }
    let config = TlsConfig::new(proof, asked.sslrootcert.as_deref()).map_err(unreadable)?;
    Ok(Some(Tls { config, host: asked.host.clone(), is_optional }))
}

fn unreadable(error: RuntimeError) -> Failure {
    super::missing(&assay_load::Error::Wire(error.into()))
}
