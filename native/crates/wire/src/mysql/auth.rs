//! The answers of the authentication methods.
//!
//! Sources: MySQL's documentation of `mysql_native_password` and `caching_sha2_password`, MariaDB's
//! of `client_ed25519`, RFC 8032 for the signature.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// Random bytes of the two methods that hash.
pub const SCRAMBLE_BYTES: usize = 20;
/// Random bytes of the method that signs.
const NONCE_BYTES: usize = 32;

/// What asks a server of `caching_sha2_password` for its public key.
pub const PUBLIC_KEY_PLEASE: u8 = 2;

/// A way to prove that one knows a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `mysql_native_password`: SHA-1, twice.
    Native,
    /// `caching_sha2_password`: SHA-256, or the password itself, under RSA where others listen.
    CachingSha2,
    /// `client_ed25519` of `MariaDB`: a signature.
    Ed25519,
    /// `mysql_clear_password`: the password itself.
    Clear,
}

impl Method {
    /// What is built in, as the protocol names it.
    pub const NAMES: &'static str =
        "mysql_native_password, caching_sha2_password, client_ed25519, mysql_clear_password";

    /// The method of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "mysql_native_password" => Some(Self::Native),
            "caching_sha2_password" => Some(Self::CachingSha2),
            "client_ed25519" => Some(Self::Ed25519),
            "mysql_clear_password" => Some(Self::Clear),
            _ => None,
        }
    }

    /// The first answer of a method to the server's random bytes.
    ///
    /// # Errors
    /// In words, when there are too few random bytes, or the password would be read by others.
    pub fn proof(
        self,
        password: &str,
        scramble: &[u8],
        is_private: bool,
    ) -> Result<Vec<u8>, String> {
        match self {
            Self::Native if password.is_empty() => Ok(Vec::new()),
            Self::Native => Ok(native(password, first(scramble)?).to_vec()),
            Self::CachingSha2 if password.is_empty() => Ok(vec![0]),
            Self::CachingSha2 => Ok(caching_sha2(password, first(scramble)?).to_vec()),
            Self::Ed25519 => Ok(ed25519(password, first::<NONCE_BYTES>(scramble)?).to_vec()),
            Self::Clear if is_private => Ok(clear(password)),
            Self::Clear => {
                Err("the server wants the password in the clear, which is sent over TLS \
                                (give sslmode=require) or a Unix socket only"
                    .to_owned())
            }
        }
    }
}

fn first<const N: usize>(scramble: &[u8]) -> Result<&[u8; N], String> {
    let short = || format!("the server sent {} random bytes, not {N}", scramble.len());
    scramble.first_chunk().ok_or_else(short)
}

/// The password as it is sent where nobody else reads: with a zero at its end.
pub fn clear(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))).
pub fn native(password: &str, scramble: &[u8; SCRAMBLE_BYTES]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(scramble).chain_update(Sha1::digest(once)).finalize();
    std::array::from_fn(|place| once[place] ^ mask[place])
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble).
pub fn caching_sha2(password: &str, scramble: &[u8; SCRAMBLE_BYTES]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(scramble).finalize();
    std::array::from_fn(|place| once[place] ^ mask[place])
}

/// The Ed25519 signature of a message, whose key is the password: of any length, not only 32.
pub fn ed25519(password: &str, message: &[u8]) -> [u8; 64] {
    sign(password.as_bytes(), message)
}

/// RFC 8032, 5.1.6, but for the length of the key.
fn sign(key: &[u8], message: &[u8]) -> [u8; 64] {
    let secret: [u8; 64] = Sha512::digest(key).into();
    let (low, prefix) = secret.split_at(32);
    let mut bits = [0; 32];
    bits.copy_from_slice(low);
    let scalar = Scalar::from_bytes_mod_order(clamp_integer(bits));
    let public = EdwardsPoint::mul_base(&scalar).compress();
    let wide = |parts: [&[u8]; 3]| {
        let hash = parts.iter().fold(Sha512::new(), |hash, part| hash.chain_update(part));
        Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
    };
    let nonce = wide([prefix, message, &[]]);
    let point = EdwardsPoint::mul_base(&nonce).compress();
    let challenge = wide([point.as_bytes(), public.as_bytes(), message]);
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(point.as_bytes());
    signature[32..].copy_from_slice((nonce + challenge * scalar).as_bytes());
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        for (key, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac\
                 c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e\
                 458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290\
                 ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ] {
            assert_eq!(sign(&bytes(key), &bytes(message))[..], bytes(signature), "{key}");
        }
    }

    /// What a server of `mysql_native_password` does: it keeps SHA1(SHA1(password)).
    #[test]
    fn a_native_proof_opens_with_what_the_server_keeps() {
        let scramble = *b"12345678901234567890";
        let kept = Sha1::digest(Sha1::digest("secret"));
        let mask = Sha1::new().chain_update(scramble).chain_update(kept).finalize();
        let proof = native("secret", &scramble);
        let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha1::digest(once), kept);
        assert_ne!(native("Secret", &scramble), proof);
        assert_ne!(native("secret", b"02345678901234567890"), proof);
    }

    #[test]
    fn a_sha2_proof_opens_with_what_the_server_keeps() {
        let scramble = *b"12345678901234567890";
        let kept = Sha256::digest(Sha256::digest("secret"));
        let mask = Sha256::new().chain_update(kept).chain_update(scramble).finalize();
        let proof = caching_sha2("secret", &scramble);
        let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(once), kept);
    }

    #[test]
    fn an_empty_password_is_proved_by_nothing_and_a_clear_one_is_kept_from_the_network() {
        assert_eq!(Method::Native.proof("", &[], false), Ok(Vec::new()));
        assert_eq!(Method::CachingSha2.proof("", &[], false), Ok(vec![0]));
        assert_eq!(Method::Clear.proof("p", &[], true), Ok(b"p\0".to_vec()));
        assert!(Method::Clear.proof("p", &[], false).unwrap_err().contains("Unix socket only"));
    }

    #[test]
    fn too_few_random_bytes_are_an_error() {
        assert!(Method::Native.proof("p", &[1; 19], true).unwrap_err().contains("19 random bytes"));
        assert!(Method::Ed25519.proof("p", &[1; 31], true).unwrap_err().contains("not 32"));
    }
}
