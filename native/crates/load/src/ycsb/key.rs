//! The text of a key: "user" and the decimal, without leading zeros.

const PREFIX: &[u8; 4] = b"user";
/// 2^64 - 1 has twenty digits.
const DIGITS: usize = 20;

/// The text of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyText {
    bytes: [u8; PREFIX.len() + DIGITS],
    length: usize,
}

impl KeyText {
    /// The text of a key, which is the hash of a key number.
    pub fn new(key: u64) -> Self {
        let mut bytes = [0; PREFIX.len() + DIGITS];
        bytes[..PREFIX.len()].copy_from_slice(PREFIX);
        let digits = key.checked_ilog10().unwrap_or(0) as usize + 1;
        let length = PREFIX.len() + digits;
        let mut rest = key;
        for digit in bytes[PREFIX.len()..length].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self { bytes, length }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl std::fmt::Display for KeyText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::KeyText;

    #[test]
    fn a_key_is_user_and_its_decimal() {
        for key in [0, 9, 10, 99, 100, 6_284_781_860_667_377_211, 1 << 63, u64::MAX] {
            assert_eq!(KeyText::new(key).to_string(), format!("user{key}"));
        }
    }
}
