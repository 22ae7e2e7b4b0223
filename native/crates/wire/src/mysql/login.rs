//! Logging in.

use assay_runtime::{Address, Connection};

use super::answer::Shape;
use super::auth::{self, Method};
use super::codec::{Next, Packets, begin, finish};
use super::packets::{Greeting, Login, Turn, capability, put_head};
use super::protocol;
use super::public_key::sealed;
use super::session::Features;
use crate::target::{CROSSES, GIVE_SSLMODE};
use crate::{Target, WireError};

/// What is asked of every server.
const ASKED: u64 = capability::FOUND_ROWS
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_STATEMENTS
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC;
/// What cannot be done without.
const NEEDED: u64 =
    capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;
const MAYBE_TLS: &str =
    "; next: check the password, or give sslmode=require if nobody is let in without TLS";
/// The most packets that a login is let take.
const TURNS_MAX: usize = 10;

/// What came out of a login.
pub(super) struct Entrance {
    pub greeting: Greeting,
    pub shape: Shape,
}

/// Gives packets to `take` until it has what it wants.
pub(super) async fn receive<T>(
    connection: &mut Connection,
    packets: &mut Packets,
    mut take: impl FnMut(&[u8]) -> Result<Option<T>, WireError>,
) -> Result<T, WireError> {
    let mut used = 0;
    loop {
        match packets.next(&connection.input()[used..])? {
            Next::More => {
                connection.consume(used);
                used = 0;
                connection.more().await?;
            }
            Next::Part { bytes } => used += bytes,
            Next::Packet { payload, bytes } => {
                used += bytes;
                if let Some(found) = take(payload)? {
                    connection.consume(used);
                    packets.forget_parts();
                    return Ok(found);
                }
            }
        }
    }
}

/// Greets the server and proves who the user is.
pub(super) async fn log_in(
    connection: &mut Connection,
    packets: &mut Packets,
    target: &Target,
    features: Features,
) -> Result<Entrance, WireError> {
    let greeting =
        receive(connection, packets, |payload| Greeting::read(payload).map(Some)).await?;
    let mut capabilities = agreed(&greeting, target, features)?;
    if let Some(tls) = target.encryption() {
        if greeting.capabilities & capability::SSL == 0 {
            tls.do_without()?;
        } else {
            capabilities |= capability::SSL;
            let mut request = Vec::new();
            put_head(&mut request, capabilities);
            say(connection, packets, &request).await?;
            tls.start(connection).await?;
        }
    }
    let is_private = connection.is_encrypted() || matches!(target.address, Address::Unix(_));
    let mut dialogue = Dialogue::new(target, &greeting, is_private);
    let login = Login {
        capabilities,
        user: &target.user,
        database: &target.database,
        method: dialogue.name,
        proof: &dialogue.proof,
    };
    let mut first = Vec::new();
    login.put(&mut first);
    let mut message = Some(first);
    for _ in 0..TURNS_MAX {
        if let Some(payload) = message.take() {
            say(connection, packets, &payload).await?;
        }
        let answered =
            receive(connection, packets, |payload| dialogue.answer(payload).map(Some)).await?;
        match answered {
            Reply::Welcome => {
                let deprecate_eof = capabilities & capability::DEPRECATE_EOF != 0;
                let cache_metadata = capabilities & capability::CACHE_METADATA != 0;
                return Ok(Entrance { greeting, shape: Shape { deprecate_eof, cache_metadata } });
            }
            Reply::Wait => {}
            Reply::Say(proof) => message = Some(proof),
        }
    }
    Err(protocol(format!("the login is not over after {TURNS_MAX} packets")))
}

async fn say(
    connection: &mut Connection,
    packets: &mut Packets,
    payload: &[u8],
) -> Result<(), WireError> {
    let mut out = Vec::new();
    let start = begin(&mut out);
    out.extend_from_slice(payload);
    packets.expect(finish(&mut out, start, packets.number()));
    Ok(connection.send(&out).await?)
}

/// What both sides can do and is of use.
fn agreed(greeting: &Greeting, target: &Target, features: Features) -> Result<u64, WireError> {
    let offered = greeting.capabilities;
    if offered & NEEDED != NEEDED {
        return Err(protocol(format!("server {} is too old: {offered:#x}", greeting.version)));
    }
    let mut asked = ASKED;
    if features.deprecate_eof {
        asked |= capability::DEPRECATE_EOF;
    }
    if features.cache_metadata {
        asked |= capability::CACHE_METADATA;
    }
    if !target.database.is_empty() {
        asked |= capability::CONNECT_WITH_DB;
    }
    // A server of MySQL takes us for one of its own clients, one of MariaDB for one of its.
    Ok((asked & offered) | (offered & capability::MYSQL))
}

/// What to do about a packet of the login.
enum Reply {
    Welcome,
    Wait,
    Say(Vec<u8>),
}

/// The state of an authentication.
struct Dialogue<'t> {
    target: &'t Target,
    is_private: bool,
    /// Whether the server has TLS and it is not used.
    could_have_tls: bool,
    name: &'static str,
    method: Method,
    proof: Vec<u8>,
    /// The random bytes that the method works with.
    scramble: Vec<u8>,
    /// Whether the server was asked for its public key.
    awaits_key: bool,
}

impl<'t> Dialogue<'t> {
    /// Begins with the method of the greeting; where that cannot be done, with the oldest one: the
    /// server then says which it wants of this user.
    fn new(target: &'t Target, greeting: &Greeting, is_private: bool) -> Self {
        let password = target.password.as_deref().unwrap_or_default();
        let wanted = match Method::named(&greeting.method) {
            Some(Method::CachingSha2) => (Method::CachingSha2, "caching_sha2_password"),
            _ => (Method::Native, "mysql_native_password"),
        };
        let proof = wanted.0.proof(password, &greeting.scramble, is_private).unwrap_or_default();
        let could_have_tls = !is_private && greeting.capabilities & capability::SSL != 0;
        let (name, method, scramble) = (wanted.1, wanted.0, greeting.scramble.clone());
        Self {
            target,
            is_private,
            could_have_tls,
            name,
            method,
            proof,
            scramble,
            awaits_key: false,
        }
    }

    fn password(&self) -> &'t str {
        self.target.password.as_deref().unwrap_or_default()
    }

    fn refused(&self, why: impl Into<String>) -> WireError {
        WireError::Login { user: self.target.user.clone(), why: why.into() }
    }

    fn answer(&mut self, payload: &[u8]) -> Result<Reply, WireError> {
        match Turn::read(payload).map_err(|error| self.understood(error))? {
            Turn::Welcome => Ok(Reply::Welcome),
            Turn::Switch { method, scramble } => {
                self.method = Method::named(method).ok_or_else(|| {
                    self.refused(format!(
                        "the server wants the authentication {method}, which is not built in; it \
                         has {}",
                        Method::NAMES
                    ))
                })?;
                self.scramble = scramble.to_vec();
                let proof = self.method.proof(self.password(), scramble, self.is_private);
                proof.map(Reply::Say).map_err(|why| self.refused(why))
            }
            Turn::Data([3]) if self.method == Method::CachingSha2 => Ok(Reply::Wait),
            Turn::Data([4]) if self.method == Method::CachingSha2 => {
                if self.is_private {
                    return Ok(Reply::Say(auth::clear(self.password())));
                }
                if self.target.is_afar() {
                    // Who stands between could send a key of his own.
                    return Err(self.refused(format!(
                        "the server asks for the password under a key that it sends{CROSSES}"
                    )));
                }
                self.awaits_key = true;
                Ok(Reply::Say(vec![auth::PUBLIC_KEY_PLEASE]))
            }
            Turn::Data(key) if self.awaits_key => {
                self.awaits_key = false;
                let proof = sealed(self.password(), &self.scramble, key);
                proof.map(Reply::Say).map_err(|why| self.refused(why))
            }
            Turn::Data(_) => Err(protocol("a question that the authentication does not have")),
        }
    }

    /// Errors about who may log in, as such.
    fn understood(&self, error: WireError) -> WireError {
        match error {
            WireError::Server { code, message, .. } if is_refusal(&code) => {
                let next = match &*code {
                    // `require_secure_transport` of MySQL.
                    "3159" => GIVE_SSLMODE,
                    // MariaDB says no more than this, whether it wants TLS or another password.
                    "1045" if self.could_have_tls => MAYBE_TLS,
                    _ => "",
                };
                self.refused(format!("the server says {code}: {message}{next}"))
            }
            error => error,
        }
    }
}

/// Access denied, to the server, a database or from this host; a method that the server has not, or
/// an account that is locked or has expired.
fn is_refusal(code: &str) -> bool {
    matches!(
        code,
        "1044"
            | "1045"
            | "1130"
            | "1251"
            | "1275"
            | "1524"
            | "1698"
            | "1862"
            | "3118"
            | "3159"
            | "4151"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_for_the_password_is_taken_from_this_machine_only() {
        for (host, is_asked) in [("192.0.2.1", false), ("127.0.0.1", true)] {
            let address = Address::tcp(host, 3306).unwrap();
            let (user, password) = ("assay".to_owned(), Some("pw".to_owned()));
            let target = Target { address, user, password, database: String::new(), tls: None };
            let mut dialogue = Dialogue {
                target: &target,
                is_private: false,
                could_have_tls: false,
                name: "caching_sha2_password",
                method: Method::CachingSha2,
                proof: Vec::new(),
                scramble: vec![7; 20],
                awaits_key: false,
            };
            match dialogue.answer(&[1, 4]) {
                Ok(Reply::Say(said)) => assert_eq!((said, is_asked), (vec![2], true), "{host}"),
                Ok(_) => panic!("{host}: nothing was said"),
                Err(error) => {
                    assert!(!is_asked, "{host}: {error}");
                    assert!(error.to_string().contains("sslmode=verify-full"), "{error}");
                }
            }
        }
    }
}
