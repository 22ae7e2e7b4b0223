//! What to ask for, and of whom.

use assay_runtime::Address;

use crate::Tls;

/// A file of a server.
#[derive(Clone, Debug)]
pub struct HttpTarget {
    address: Address,
    host: String,
    path: String,
    tls: Option<Tls>,
}

/// A target that no request can name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// The path.
    #[error("path {0:?} must start with / and hold visible ASCII only; write others as %XX")]
    Path(String),
    /// The host.
    #[error("host {0:?} must be visible ASCII and not empty; add :PORT where it is not 80")]
    Host(String),
}

impl HttpTarget {
    /// A path (with its query) at a host, whose name goes into the field `Host`, and which is
    /// connected to at an address.
    ///
    /// # Errors
    /// `BadTarget` when the host or path could not stand in a request.
    pub fn new(
        address: Address,
        host: impl Into<String>,
        path: impl Into<String>,
    ) -> Result<Self, BadTarget> {
        let (host, path) = (host.into(), path.into());
        let is_visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !is_visible(&host) {
            return Err(BadTarget::Host(host));
        }
        if !path.starts_with('/') || !is_visible(&path) {
            return Err(BadTarget::Path(path));
        }
        Ok(Self { address, host, path, tls: None })
    }

    /// The same over TLS, from the start.
    pub fn with_tls(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// Another file of the same server.
    ///
    /// # Errors
    /// `BadTarget` when the path could not stand in a request.
    pub fn with_path(&self, path: &str) -> Result<Self, BadTarget> {
        let Self { address, host, tls, .. } = self.clone();
        Ok(Self::new(address, host, path)?.with_tls(tls))
    }

    /// How the connection is encrypted, where it is.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The bytes of a request for it over a connection that stays open.
    pub fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", self.path, self.host).into_bytes()
    }
}
