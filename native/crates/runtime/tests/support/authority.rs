//! Certificates of a test: an authority, and what it signs.
#![allow(dead_code)] // Not every file of tests needs everything.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

/// One who signs. Its files go when it is dropped.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, which is no server's.
    pub own: Signed,
    folder: PathBuf,
}

/// A certificate and its key, both in PEM.
#[derive(Clone)]
pub struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Signed {
    /// How a server speaks TLS with it.
    pub fn config(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        Arc::new(builder.with_single_cert(chain, key).unwrap())
    }

    /// Speaks TLS as a server.
    pub fn serve<S: Read + Write>(&self, stream: S) -> StreamOwned<ServerConnection, S> {
        let config = self.config(rustls::ALL_VERSIONS);
        StreamOwned::new(ServerConnection::new(config).unwrap(), stream)
    }
}

impl Authority {
    /// Another one each time, though all have one name.
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-authority-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let own = params.self_signed(&key).unwrap();
        std::fs::write(folder.join("ca.pem"), own.pem()).unwrap();
        let own = Signed { certificate: own.pem(), key: key.serialize_pem() };
        Self { issuer: Issuer::new(params, key), own, folder }
    }

    /// Its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// A certificate for names and addresses, which ends with a year.
    pub fn sign(&self, names: &[&str], last_year: i32) -> Signed {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        Signed { certificate: signed.pem(), key: key.serialize_pem() }
    }

    /// The files of a certificate for the loopback: certificate and key.
    pub fn files(&self) -> (PathBuf, PathBuf) {
        let (certificate, key) = (self.folder.join("cert.pem"), self.folder.join("key.pem"));
        let signed = self.sign(&["localhost", "127.0.0.1"], 2999);
        std::fs::write(&certificate, signed.certificate).unwrap();
        std::fs::write(&key, signed.key).unwrap();
        (certificate, key)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
