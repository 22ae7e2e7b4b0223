//! A password under the server's public key, for `caching_sha2_password` where others may listen.
//!
//! Source: MySQL's documentation of `caching_sha2_password`; RFC 8017 for RSAES-OAEP. Who can change
//! what is sent can put a key of his own in the place of the server's: TLS with `verify-full` tells.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

/// The password and a zero, XOR the scramble again and again, by RSA-OAEP with SHA-1 under a key in
/// PEM (`SubjectPublicKeyInfo`, 2048 to 8192 bits).
///
/// # Errors
/// In words, when the key is none or too short for the password.
pub fn sealed(password: &str, scramble: &[u8], pem: &[u8]) -> Result<Vec<u8>, String> {
    let unreadable = || "the server's public key is no RSA key of 2048 to 8192 bits".to_owned();
    let key = der(pem).ok_or_else(unreadable)?;
    let key = PublicEncryptingKey::from_der(&key).map_err(|_| unreadable())?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| unreadable())?;
    let mask = scramble.iter().take(super::auth::SCRAMBLE_BYTES).cycle();
    let plain: Vec<u8> = password.bytes().chain([0]).zip(mask).map(|(a, b)| a ^ b).collect();
    let most = key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1);
    if plain.len() > most {
        return Err(format!(
            "the password is longer than the {most} bytes that the server's public \
                            key can carry; next: give sslmode=require"
        ));
    }
    let mut out = vec![0; key.ciphertext_size()];
    let written = key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut out, None).map(|out| out.len());
    out.truncate(written.map_err(|_| "the password could not be encrypted".to_owned())?);
    Ok(out)
}

fn der(pem: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(BEGIN)?;
    let (inside, _) = rest.split_once(END)?;
    let letters: String = inside.split_ascii_whitespace().collect();
    base64::engine::general_purpose::STANDARD.decode(letters).ok()
}
