//! TLS over a connection: rustls decides what is said, the connection carries it.
//!
//! rustls' interface without buffers is used: what comes is decrypted where it was read, what goes is
//! encrypted into the memory that is sent. A connection that waits owns no buffer, as without TLS.
//! Per record that comes rustls allocates once.

use std::fmt;
use std::future::poll_fn;
use std::mem::take;
use std::task::Poll;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{CertificateError, Error, ProtocolVersion};

use crate::input::{BUFFER_BYTES, Input};
use crate::{Connection, Handle, RuntimeError, TlsConfig};

/// More than TLS adds to what is encrypted in one go: two records' heads and tails.
const OVERHEAD_BYTES: usize = 256;
/// What is encrypted and sent in one go: it fits the memory that a worker lends.
const PIECE_BYTES: usize = BUFFER_BYTES - OVERHEAD_BYTES;

/// One connection's TLS.
pub(crate) struct Tls {
    session: UnbufferedClientConnection,
    host: Box<str>,
    /// What came and could not be decrypted yet, for want of a record's end.
    sealed: Input,
    /// What is to be sent, and how much of it was.
    out: Vec<u8>,
    sent: usize,
    /// Why nothing more will come.
    end: Option<End>,
}

#[derive(Clone)]
enum End {
    /// The peer has said so.
    Said,
    Failed(Error),
}

/// Whether rustls has more to say about what came.
enum Step {
    More,
    Over,
}

type Polled = Poll<Result<(), RuntimeError>>;

impl Connection {
    /// Speaks TLS from now on, as the client. `host` is the server's name or address, as it stands
    /// in its certificate. Nothing that the peer sent before may be left in the input.
    ///
    /// # Errors
    /// `Untrusted` when the server does not prove what it has to; `Tls` when it does not speak TLS
    /// or a version, or refuses; `Broken`.
    pub async fn start_tls(&mut self, config: &TlsConfig, host: &str) -> Result<(), RuntimeError> {
        if !self.input().is_empty() {
            return Err(failed(host, "the server spoke on before the handshake"));
        }
        let mut tls = Tls::new(config, host)?;
        poll_fn(|_| tls.poll_handshake(self)).await?;
        config.note(|| tls.agreed());
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Whether TLS is spoken.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether TLS is spoken and the peer has not said that it was through: who closes then may have
    /// been cut off.
    pub fn is_cut_off(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| !matches!(tls.end, Some(End::Said)))
    }

    pub(crate) fn poll_more_tls(&mut self) -> Polled {
        let Some(mut tls) = self.tls.take() else { return self.poll_more_plain() };
        let polled = tls.poll_more(self);
        self.tls = Some(tls);
        polled
    }

    pub(crate) fn poll_send_tls(&mut self, bytes: &[u8], sent: &mut usize) -> Polled {
        let Some(mut tls) = self.tls.take() else { return self.poll_send_plain(bytes, sent) };
        let polled = tls.poll_send(self, bytes, sent);
        self.tls = Some(tls);
        polled
    }

    /// Tells the peer that nothing more comes, if that can be done at once.
    pub(crate) fn say_goodbye(&mut self) {
        if let Some(mut tls) = self.tls.take()
            && tls.out.is_empty()
            && tls.seal(self.handle(), 0, |traffic, out| traffic.queue_close_notify(out)).is_ok()
        {
            let _ = tls.poll_flush(self);
        }
    }
}

type Traffic<'c> = rustls::unbuffered::WriteTraffic<'c, ClientConnectionData>;

impl Tls {
    fn new(config: &TlsConfig, host: &str) -> Result<Self, RuntimeError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(host, error))?;
        let session = UnbufferedClientConnection::new(config.client.clone(), name)
            .map_err(|error| explained(host, &error))?;
        let (sealed, out) = (Input::default(), Vec::new());
        Ok(Self { session, host: host.into(), sealed, out, sent: 0, end: None })
    }

    /// Version and cipher suite, by the names of the standard.
    fn agreed(&self) -> String {
        let version = match self.session.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = self.session.negotiated_cipher_suite();
        let suite = suite.and_then(|suite| suite.suite().as_str()).unwrap_or("an unknown suite");
        format!("{version} {}", suite.replacen("TLS13_", "TLS_", 1))
    }

    fn poll_handshake(&mut self, connection: &mut Connection) -> Polled {
        loop {
            self.open(connection);
            match self.poll_flush(connection) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
            if let Some(error) = self.ended() {
                return Poll::Ready(Err(error));
            }
            if !self.session.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            match self.poll_sealed(connection) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(RuntimeError::Closed)) => {
                    let why = "the server closed the connection; does it speak TLS on this port?";
                    return Poll::Ready(Err(failed(&self.host, why)));
                }
                other => return other,
            }
        }
    }

    fn poll_more(&mut self, connection: &mut Connection) -> Polled {
        loop {
            if let Some(error) = self.ended() {
                return Poll::Ready(Err(error));
            }
            match self.poll_sealed(connection) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
            // What was decrypted before an end is worth having.
            if self.open(connection) {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn poll_send(&mut self, connection: &mut Connection, bytes: &[u8], sent: &mut usize) -> Polled {
        loop {
            match self.poll_flush(connection) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
            let left = &bytes[*sent..];
            if left.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let piece = &left[..left.len().min(PIECE_BYTES)];
            let sealed = self
                .seal(connection.handle(), piece.len(), |traffic, out| traffic.encrypt(piece, out));
            if let Err(error) = sealed {
                return Poll::Ready(Err(error));
            }
            *sent += piece.len();
        }
    }

    /// Reads what comes into `sealed`, as a connection without TLS reads into its own buffer.
    fn poll_sealed(&mut self, connection: &mut Connection) -> Polled {
        connection.poll_into(&mut self.sealed)
    }

    /// Decrypts what came and adds it to the connection's input; whether there was any. What is to be
    /// answered lies in `out` then.
    fn open(&mut self, connection: &mut Connection) -> bool {
        let handle = connection.handle().clone();
        let buffers = &handle.0.buffers;
        let opened = connection.input.with_room(buffers);
        let (before, mut used) = (opened.len(), 0);
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.session.process_tls_records(&mut self.sealed.bytes_mut()[used..]);
            let step = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
                    match traffic.next_record() {
                        Some(Ok(record)) => {
                            discard += record.discard;
                            opened.extend_from_slice(record.payload);
                        }
                        Some(Err(error)) => break Err(error),
                        None => break Ok(Step::More),
                    }
                },
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(&mut self.out, |out| data.encode(out)).map(|()| Step::More)
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    // It is in `out`, which is sent before anything else happens.
                    data.done();
                    Ok(Step::More)
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.end = Some(End::Said);
                    Ok(Step::More)
                }
                Ok(_) => Ok(Step::Over),
                Err(error) => Err(error),
            };
            used += discard;
            match step {
                Ok(Step::More) => {}
                Ok(Step::Over) => break,
                // The alert that tells the peer is still to be had.
                Err(error) if self.end.is_none() => self.end = Some(End::Failed(error)),
                Err(_) => break,
            }
        }
        let is_more = opened.len() > before;
        self.sealed.consume(used, buffers);
        if connection.input().is_empty() {
            connection.input.release(buffers);
        }
        is_more
    }

    /// Encrypts so many bytes into `out`, which is empty.
    fn seal(
        &mut self,
        handle: &Handle,
        bytes: usize,
        write: impl FnOnce(&mut Traffic<'_>, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<(), RuntimeError> {
        self.out = handle.lend();
        self.out.resize(bytes + OVERHEAD_BYTES, 0);
        // What is in `sealed` is no whole record: nothing comes of it.
        let status = self.session.process_tls_records(self.sealed.bytes_mut());
        let written = match status.state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                write(&mut traffic, &mut self.out).map_err(|error| failed(&self.host, error))
            }
            Ok(_) => Err(RuntimeError::Closed),
            Err(error) => Err(explained(&self.host, &error)),
        };
        self.out.truncate(*written.as_ref().unwrap_or(&0));
        written.map(|_| ())
    }

    /// Sends what is in `out`.
    fn poll_flush(&mut self, connection: &mut Connection) -> Polled {
        let polled = connection.poll_send_plain(&self.out, &mut self.sent);
        if polled.is_ready() {
            self.sent = 0;
            self.out.clear();
            connection.handle().give_back(take(&mut self.out));
        }
        polled
    }

    fn ended(&self) -> Option<RuntimeError> {
        self.end.as_ref().map(|end| match end {
            End::Said => RuntimeError::Closed,
            End::Failed(error) => explained(&self.host, error),
        })
    }
}

/// Adds what `write` writes to the end of `out`.
fn encode(
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Error> {
    let start = out.len();
    loop {
        match write(&mut out[start..]) {
            Ok(bytes) => {
                out.truncate(start + bytes);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(wanted)) => {
                out.resize(start + wanted.required_size, 0);
            }
            Err(error) => return Err(Error::General(error.to_string())),
        }
    }
}

fn failed(host: &str, why: impl fmt::Display) -> RuntimeError {
    RuntimeError::Tls { host: host.to_owned(), why: why.to_string() }
}

const OWN_AUTHORITY: &str = "give sslrootcert=FILE with the authority that signed it, or \
                             sslmode=require to encrypt without asking who answers";
const OWN_NAME: &str = "connect by a name that it is for, or give sslmode=verify-ca";
const OWN_CERTIFICATE: &str = "give the server one with basicConstraints=CA:FALSE, or \
                               sslmode=require to encrypt without asking who answers";
const RENEWED: &str = "renew it, or give sslmode=require to encrypt without asking who answers";

/// An error of rustls in the words of this crate.
#[cold]
fn explained(host: &str, error: &Error) -> RuntimeError {
    let Error::InvalidCertificate(fault) = error else {
        return match error {
            Error::InvalidMessage(_) => {
                failed(host, format!("{error}; does the server speak TLS on this port?"))
            }
            error => failed(host, error),
        };
    };
    let (why, next) = match fault {
        // The latter of an authority that has the same name and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            ("none of the trusted authorities has signed it".to_owned(), OWN_AUTHORITY)
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            (fault.to_string(), OWN_NAME)
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => (fault.to_string(), RENEWED),
        // As `openssl req -x509` makes them, unless told otherwise.
        fault if fault.to_string().contains("CaUsedAsEndEntity") => {
            ("it is that of an authority itself (CA:TRUE)".to_owned(), OWN_CERTIFICATE)
        }
        fault => (fault.to_string(), OWN_AUTHORITY),
    };
    RuntimeError::Untrusted { host: host.to_owned(), why, next }
}
