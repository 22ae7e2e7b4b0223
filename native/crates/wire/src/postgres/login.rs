//! Logging in.

use assay_runtime::Connection;

use super::codec::{self, Authentication, Message};
use super::messages;
use super::scram::{self, Scram};
use super::session::Session;
use super::wrong;
use crate::target::{CROSSES, GIVE_SSLMODE};
use crate::{Target, Tls, WireError};

/// More than any message has before somebody is logged in. Who sends more is no PostgreSQL.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// More than a server says that cannot even start a process.
const WORDS_BYTES_MAX: usize = 1024;

/// Asks the server for TLS, and speaks it if it has it.
pub(super) async fn start_tls(connection: &mut Connection, tls: &Tls) -> Result<(), WireError> {
    connection.send(&messages::SSL_REQUEST).await?;
    while connection.input().is_empty() {
        connection.more().await?;
    }
    match connection.input()[0] {
        b'S' => {
            connection.consume(1);
            tls.start(connection).await
        }
        b'N' => {
            connection.consume(1);
            tls.do_without()
        }
        // Its words, such as that it cannot start another process. Anybody may have said them in its
        // place, so there is no login in the clear after them.
        b'E' => {
            while !connection.input().contains(&0) && connection.input().len() < WORDS_BYTES_MAX {
                connection.more().await?;
            }
            let words = String::from_utf8_lossy(&connection.input()[1..]).into_owned();
            let words = words.trim_end_matches('\0').trim_end();
            Err(wrong(format!("an error in answer to a request for TLS: {words}")))
        }
        _ => Err(wrong("no answer to a request for TLS; is this a PostgreSQL server?")),
    }
}

impl Session {
    pub(super) async fn log_in(&mut self, target: &Target) -> Result<(), WireError> {
        let mut settings = vec![("user", target.user.as_str())];
        if !target.database.is_empty() {
            settings.push(("database", &target.database));
        }
        settings.extend([("client_encoding", "UTF8"), ("application_name", "assay")]);
        messages::startup(&mut self.out, &settings)?;
        self.send().await?;
        let is_overheard = target.is_afar() && !self.connection.is_encrypted();
        let mut login = Login { target, is_overheard, scram: None, is_proven: false, is_in: false };
        loop {
            let Some((bytes, message)) = codec::next(self.connection.input())? else {
                if self.connection.input().len() > MESSAGE_BYTES_MAX {
                    return Err(wrong("a message before the login that is too large"));
                }
                self.connection.more().await?;
                continue;
            };
            if let Message::ReadyForQuery(state) = message
                && login.is_in
            {
                self.connection.consume(bytes);
                self.ready(state);
                return Ok(());
            }
            self.out.clear();
            login.step(message, &mut self.out)?;
            self.connection.consume(bytes);
            if !self.out.is_empty() {
                self.send().await?;
            }
        }
    }
}

/// A login under way.
struct Login<'t> {
    target: &'t Target,
    /// Whether others may read what is said.
    is_overheard: bool,
    scram: Option<Scram>,
    /// Whether the server has proven that it knows the password.
    is_proven: bool,
    /// Whether the server believes who we are.
    is_in: bool,
}

impl Login<'_> {
    /// Takes a message in and writes the answer to it, if it wants one.
    fn step(&mut self, message: Message<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
        match message {
            Message::Authentication(asked) => self.authenticate(asked, out),
            Message::Error(report) => {
                let words = format!("{}: {}", report.code(), report.message());
                let wants_tls = words.starts_with("28000") && words.ends_with("no encryption");
                Err(self.refused(words + if wants_tls { GIVE_SSLMODE } else { "" }))
            }
            Message::Notice(_)
            | Message::ParameterStatus { .. }
            | Message::BackendKeyData { .. } => Ok(()),
            Message::NegotiateProtocolVersion { .. } => {
                Err(wrong("the server does not know version 3.0 of the protocol"))
            }
            other => Err(super::session::unexpected(&other, "a login")),
        }
    }

    fn authenticate(
        &mut self,
        asked: Authentication<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match asked {
            Authentication::Ok if self.scram.is_some() && !self.is_proven => {
                Err(self.refused("the server skipped the proof that it knows the password"))
            }
            Authentication::Ok => {
                self.is_in = true;
                Ok(())
            }
            Authentication::Cleartext if self.is_overheard => {
                Err(self.refused(format!("the server asks for the password in the clear{CROSSES}")))
            }
            Authentication::Cleartext => messages::password(out, self.password()?.as_bytes()),
            Authentication::Md5 { salt } => {
                let response = scram::md5_response(&self.target.user, self.password()?, salt);
                messages::password(out, response.as_bytes())
            }
            Authentication::Sasl(mechanisms) => self.start_scram(mechanisms, out),
            Authentication::SaslContinue(challenge) => {
                let answer = match &mut self.scram {
                    Some(scram) => scram.answer(challenge),
                    None => return Err(wrong("a challenge before SASL began")),
                };
                messages::sasl_response(out, answer.map_err(|why| self.refused(why))?.as_bytes())
            }
            Authentication::SaslFinal(last) => {
                let Some(scram) = &self.scram else {
                    return Err(wrong("an end of SASL before it began"));
                };
                scram.verify(last).map_err(|why| self.refused(why))?;
                self.is_proven = true;
                Ok(())
            }
            other => Err(self.refused(missing(other))),
        }
    }

    fn start_scram(&mut self, mechanisms: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut names = mechanisms.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        if !names.clone().any(|name| name == scram::MECHANISM.as_bytes()) {
            let names: Vec<_> = names.by_ref().map(String::from_utf8_lossy).collect();
            let names = names.join(", ");
            let wanted = scram::MECHANISM;
            return Err(self.refused(format!(
                "the server wants SASL by {names}, and only {wanted} is built in"
            )));
        }
        let scram = Scram::new("", self.password()?).map_err(|why| self.refused(why))?;
        messages::sasl_initial(out, scram::MECHANISM, scram.first().as_bytes())?;
        self.scram = Some(scram);
        Ok(())
    }

    fn password(&self) -> Result<&str, WireError> {
        let password = self.target.password.as_deref();
        password.ok_or_else(|| self.refused("the server asks for a password, and none was given"))
    }

    fn refused(&self, why: impl Into<String>) -> WireError {
        WireError::Login { user: self.target.user.clone(), why: why.into() }
    }
}

fn missing(asked: Authentication<'_>) -> String {
    let name = match asked {
        Authentication::Kerberos => "Kerberos 5".to_owned(),
        Authentication::ScmCredential => "SCM credentials".to_owned(),
        Authentication::Gss | Authentication::GssContinue(_) => "GSSAPI".to_owned(),
        Authentication::Sspi => "SSPI".to_owned(),
        Authentication::Unknown(kind) => format!("an unknown method (number {kind})"),
        other => format!("{other:?}"),
    };
    format!(
        "the server wants authentication by {name}, which is not built in; use scram-sha-256, md5, \
         password or trust in pg_hba.conf"
    )
}

#[cfg(test)]
mod tests {
    use assay_runtime::Address;

    use super::*;

    #[test]
    fn a_password_crosses_a_network_in_the_clear_only_when_encrypted() {
        for (host, is_encrypted, is_sent) in [
            ("192.0.2.1", false, false),
            ("192.0.2.1", true, true),
            ("127.0.0.1", false, true),
            ("::1", false, true),
        ] {
            let address = Address::tcp(host, 5432).unwrap();
            let (user, password) = ("assay".to_owned(), Some("pw".to_owned()));
            let target = Target { address, user, password, database: String::new(), tls: None };
            let is_overheard = target.is_afar() && !is_encrypted;
            let mut login = Login {
                target: &target,
                is_overheard,
                scram: None,
                is_proven: false,
                is_in: false,
            };
            let (mut out, asked) = (Vec::new(), Message::Authentication(Authentication::Cleartext));
            let done = login.step(asked, &mut out);
            assert_eq!(done.is_ok(), is_sent, "{host}");
            assert_eq!(out.windows(2).any(|bytes| bytes == b"pw"), is_sent, "{host}");
            if let Err(error) = done {
                assert!(error.to_string().contains("sslmode=verify-full"), "{error}");
            }
        }
    }
}
