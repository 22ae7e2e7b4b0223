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

    /// The key of a text; none if it is not one that [`KeyText::new`] writes.
    pub fn parse(text: &[u8]) -> Option<u64> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_decimal = digits.iter().all(u8::is_ascii_digit);
        let is_plain = digits.first() != Some(&b'0') || digits.len() == 1;
        let digits = str::from_utf8(digits).ok().filter(|_| is_decimal && is_plain)?;
        digits.parse().ok()
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl AsRef<[u8]> for KeyText {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
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
            let text = KeyText::new(key);
            assert_eq!(text.to_string(), format!("user{key}"));
            assert_eq!(KeyText::parse(text.as_bytes()), Some(key));
        }
    }

    #[test]
    fn what_is_written_otherwise_is_no_key() {
        for text in ["", "user", "use1", "user01", "user+1", "user1 ", "user18446744073709551616"] {
            assert_eq!(KeyText::parse(text.as_bytes()), None, "{text}");
        }
    }
}
