//! Proofs of a password: SCRAM-SHA-256 (RFC 5802, RFC 7677) and MD5. No channel binding.

mod salted;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The most rounds that a server may ask for: about a second of hashing.
const ROUNDS_MAX: u32 = 2_000_000;
/// "n": no channel binding; and no other name to act as.
const HEADER: &str = "n,,";

type Hash = [u8; 32];

/// A login under way.
pub struct Scram {
    password: Vec<u8>,
    /// What we have said first, without the header.
    first: String,
    nonce: String,
    /// The signature by which the server must prove that it knows the password too.
    expected: Option<Hash>,
}

impl Scram {
    /// Starts a login with a fresh nonce. PostgreSQL wants an empty user: it knows it already.
    ///
    /// # Errors
    /// A sentence, when the system gives no random bytes.
    pub fn new(user: &str, password: &str) -> Result<Self, String> {
        let mut random = [0; 18];
        getrandom::fill(&mut random)
            .map_err(|error| format!("the system gives no random bytes: {error}"))?;
        Ok(Self::with_nonce(user, password, BASE64.encode(random)))
    }

    /// Starts a login with a known nonce; for tests.
    pub fn with_nonce(user: &str, password: &str, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        Self { password: prepared(password), first, nonce, expected: None }
    }

    /// The first message to the server.
    pub fn first(&self) -> String {
        format!("{HEADER}{}", self.first)
    }

    /// The answer to the server's challenge.
    ///
    /// # Errors
    /// A sentence, when the challenge is none.
    pub fn answer(&mut self, challenge: &[u8]) -> Result<String, String> {
        let unfit = |what: &str| format!("the server's SCRAM challenge has {what}");
        let challenge = std::str::from_utf8(challenge).map_err(|_| unfit("no text"))?;
        let mut parts = challenge.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name));
        let nonce = part("r=").ok_or_else(|| unfit("no nonce"))?;
        let salt = part("s=").ok_or_else(|| unfit("no salt"))?;
        let rounds = part("i=").ok_or_else(|| unfit("no count of rounds"))?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(unfit("a nonce that does not begin with ours"));
        }
        let salt = BASE64.decode(salt).map_err(|_| unfit("a salt that is not base64"))?;
        let rounds: u32 = rounds.parse().map_err(|_| unfit("no count of rounds"))?;
        if !(1..=ROUNDS_MAX).contains(&rounds) {
            return Err(unfit(&format!("{rounds} rounds; 1 to {ROUNDS_MAX} are done")));
        }
        let salted = salted::password(&self.password, &salt, rounds);
        let last = format!("c={},r={nonce}", BASE64.encode(HEADER));
        let whole = format!("{},{challenge},{last}", self.first);
        let mut proof = mac(&salted, &[b"Client Key"]);
        let stored: Hash = Sha256::digest(proof).into();
        xor(&mut proof, &mac(&stored, &[whole.as_bytes()]));
        let server_key = mac(&salted, &[b"Server Key"]);
        self.expected = Some(mac(&server_key, &[whole.as_bytes()]));
        Ok(format!("{last},p={}", BASE64.encode(proof)))
    }

    /// Looks whether the server knows the password.
    ///
    /// # Errors
    /// A sentence, when it does not, or reports an error.
    pub fn verify(&self, last: &[u8]) -> Result<(), String> {
        if let Some(error) = last.strip_prefix(b"e=") {
            return Err(format!("the server says {}", String::from_utf8_lossy(error)));
        }
        let signature = last
            .strip_prefix(b"v=")
            .map(|rest| BASE64.decode(rest.split(|&byte| byte == b',').next().unwrap_or_default()));
        match (signature, &self.expected) {
            (Some(Ok(signature)), Some(expected)) if signature == expected => Ok(()),
            _ => Err("the server does not prove that it knows the password; is it the right \
                      server?"
                .to_owned()),
        }
    }
}

/// Normalised as RFC 4013 says. PostgreSQL takes ASCII as it is, and what cannot be normalised too.
fn prepared(password: &str) -> Vec<u8> {
    if password.is_ascii() {
        return password.as_bytes().to_vec();
    }
    match stringprep::saslprep(password) {
        Ok(prepared) if !prepared.is_empty() => prepared.as_bytes().to_vec(),
        _ => password.as_bytes().to_vec(),
    }
}

/// HMAC's own treatment of keys, written out because the crate's constructor for keys of any length
/// returns an error that cannot happen.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    Hmac::new(&block.into())
}

fn finish(mac: Hmac<Sha256>) -> Hash {
    mac.finalize().into_bytes().into()
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Hash {
    let mut mac = keyed(key);
    parts.iter().for_each(|part| mac.update(part));
    finish(mac)
}

fn xor(into: &mut Hash, other: &Hash) {
    into.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

/// The answer to an MD5 request: `md5` and the hexadecimal hash of (hexadecimal hash of password
/// and user) and salt.
pub fn md5_response(user: &str, password: &str, salt: [u8; 4]) -> String {
    let inner = hex(&Md5::new().chain_update(password).chain_update(user).finalize());
    format!("md5{}", hex(&Md5::new().chain_update(inner).chain_update(salt).finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                             s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// Section 3 of RFC 7677.
    fn rfc_7677() -> Scram {
        Scram::with_nonce("user", "pencil", "rOprNGfwEbeRWgbNEkqO".to_owned())
    }

    #[test]
    fn the_example_of_rfc_7677_is_met_byte_for_byte() {
        let mut scram = rfc_7677();
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        assert_eq!(
            scram.answer(CHALLENGE.as_bytes()).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
    }

    #[test]
    fn a_server_that_cannot_prove_itself_is_refused() {
        let mut scram = rfc_7677();
        let proof = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert!(scram.verify(proof).is_err(), "before any challenge");
        scram.answer(CHALLENGE.as_bytes()).unwrap();
        for last in [&b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="[..], b"v=", b"", b"v=?"] {
            assert!(scram.verify(last).unwrap_err().contains("does not prove"));
        }
        assert!(scram.verify(b"e=invalid-proof").unwrap_err().contains("invalid-proof"));
    }

    #[test]
    fn a_challenge_that_is_none_is_refused_with_what_is_wrong() {
        for (challenge, word) in [
            ("", "no nonce"),
            ("r=other,s=AAAA,i=1", "ours"),
            ("r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=1", "ours"),
            ("r=rOprNGfwEbeRWgbNEkqOx", "no salt"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=?,i=1", "base64"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA", "no count"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=0", "0 rounds"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4000000000", "rounds"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=-1", "no count"),
        ] {
            let error = rfc_7677().answer(challenge.as_bytes()).unwrap_err();
            assert!(error.contains(word), "{challenge}: {error}");
        }
        assert!(rfc_7677().answer(b"\xff").is_err());
    }

    #[test]
    fn nonces_differ_and_users_are_escaped() {
        let first = |user| Scram::new(user, "x").unwrap().first();
        assert_ne!(first(""), first(""));
        assert!(first("a=b,c").starts_with("n,,n=a=3Db=2Cc,r="));
    }

    #[test]
    fn passwords_are_normalised_as_rfc_4013_says() {
        assert_eq!(prepared("I\u{ad}X"), b"IX");
        assert_eq!(prepared("\u{aa}"), b"a");
        assert_eq!(prepared("tab\there"), b"tab\there");
        assert_eq!(prepared("bell\u{7}é"), "bell\u{7}é".as_bytes());
    }

    /// The value is what `md5sum` gives in two steps.
    #[test]
    fn an_md5_response_is_the_hash_of_a_hash() {
        let response = md5_response("user", "password", [1, 2, 3, 4]);
        assert_eq!(response, EXPECTED_MD5);
    }

    const EXPECTED_MD5: &str = "md5a3576f1ae039b8996bc4fc2720f9c71a";
}
