//! What a server has to prove before TLS is spoken with it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::RuntimeError;

/// What a server has to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: nobody between reads along, but whoever answers is believed.
    Nothing,
    /// A certificate of a trusted authority, for whatever name.
    Authority,
    /// A certificate of a trusted authority for the name that it was connected by.
    Name,
}

/// How TLS is spoken: made once for all connections with a server. Cheap to clone.
#[derive(Clone)]
pub struct TlsConfig {
    pub(crate) client: Arc<ClientConfig>,
    agreed: Arc<OnceLock<String>>,
}

impl TlsConfig {
    /// TLS 1.2 and 1.3. Authorities are those of a PEM file, or those that this system trusts
    /// (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others). No session is resumed: every handshake
    /// costs what it costs.
    ///
    /// # Errors
    /// `Authorities` when there are none.
    pub fn new(proof: Proof, authorities: Option<&Path>) -> Result<Self, RuntimeError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match proof {
            Proof::Nothing => Arc::new(Anybody(Arc::clone(&provider))),
            Proof::Authority => Arc::new(AnyName(verifier(&provider, authorities)?)),
            Proof::Name => verifier(&provider, authorities)?,
        };
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| no_authorities(authorities, &error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        client.resumption = rustls::client::Resumption::disabled();
        Ok(Self { client: Arc::new(client), agreed: Arc::default() })
    }

    /// Version and cipher suite of the first connection, as `TLSv1.3 TLS_AES_256_GCM_SHA384`; none
    /// while there was no handshake.
    pub fn agreed(&self) -> Option<&str> {
        self.agreed.get().map(String::as_str)
    }

    pub(crate) fn note(&self, agreed: impl FnOnce() -> String) {
        self.agreed.get_or_init(agreed);
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TlsConfig").field("agreed", &self.agreed()).finish_non_exhaustive()
    }
}

fn verifier(
    provider: &Arc<CryptoProvider>,
    authorities: Option<&Path>,
) -> Result<Arc<WebPkiServerVerifier>, RuntimeError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let certificates = CertificateDer::pem_file_iter(path);
            for certificate in certificates.map_err(|error| no_authorities(Some(path), &error))? {
                let certificate =
                    certificate.map_err(|error| no_authorities(Some(path), &error))?;
                roots.add(certificate).map_err(|error| no_authorities(Some(path), &error))?;
            }
        }
        // Of a system's hundreds some may be of kinds that are not known here.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(no_authorities(authorities, &"it has no certificate"));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| no_authorities(authorities, &error))
}

fn no_authorities(path: Option<&Path>, why: &dyn fmt::Display) -> RuntimeError {
    let place = path.map_or("this system's store".to_owned(), |path| path.display().to_string());
    RuntimeError::Authorities { place, why: why.to_string() }
}

/// Asks for a certificate of an authority and does not look whose it is.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is what is looked at last.
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Believes everybody. A signature by a key that anybody may have made proves nothing, so it is not
/// looked at: certificates of old versions do as well.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
