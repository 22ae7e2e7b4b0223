//! Commands as bytes. Nothing allocates once a batch has its size.

use super::KEY_MAX;

/// Commands that are sent without reading replies, in bytes: less than sockets hold. memcached reads
/// no commands while it cannot get rid of replies, so that both sides would wait for ever.
const WINDOW_BYTES: usize = 32 * 1024;

/// Commands that go out together, in order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each command ends.
    ends: Vec<usize>,
}

impl Batch {
    /// Takes all commands out.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many commands there are, and so how many replies.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All commands as they are sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a command of these words, its name first.
    ///
    /// # Panics
    /// When there is no word, or one that is no [word](is_word).
    pub fn command(&mut self, words: &[&[u8]]) {
        assert!(!words.is_empty() && words.iter().all(|word| is_word(word)), "{words:?}");
        for word in words {
            self.bytes.extend_from_slice(word);
            self.bytes.push(b' ');
        }
        self.bytes.pop();
        self.bytes.extend_from_slice(b"\r\n");
        self.ends.push(self.bytes.len());
    }

    /// Appends the data block of the last command, which has said its length.
    ///
    /// # Panics
    /// When there is no command.
    pub fn data(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(b"\r\n");
        *self.ends.last_mut().expect("a data block belongs to a command") = self.bytes.len();
    }

    /// Appends what reads a key.
    ///
    /// # Panics
    /// When it is no [key](is_key).
    pub fn get(&mut self, key: &[u8]) {
        assert!(is_key(key), "{key:?}");
        self.command(&[b"get", key]);
    }

    /// Appends what writes a key, without flags and for ever.
    ///
    /// # Panics
    /// When it is no [key](is_key).
    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        self.set_parts(key, value.len(), std::iter::once(value));
    }

    /// The same for a value of so many bytes in parts.
    ///
    /// # Panics
    /// When it is no [key](is_key), or the parts have another sum.
    pub fn set_parts<'v>(
        &mut self,
        key: &[u8],
        bytes: usize,
        parts: impl Iterator<Item = &'v [u8]>,
    ) {
        assert!(is_key(key), "{key:?}");
        let (mut digits, mut start, mut left) = ([0; 20], 20, bytes);
        while left > 0 || start == digits.len() {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        self.command(&[b"set", key, b"0", b"0", &digits[start..]]);
        let start = self.bytes.len();
        parts.for_each(|part| self.bytes.extend_from_slice(part));
        assert_eq!(self.bytes.len() - start, bytes, "the length of a value is said before it");
        self.data(&[]);
    }

    /// Appends what removes a key.
    ///
    /// # Panics
    /// When it is no [key](is_key).
    pub fn delete(&mut self, key: &[u8]) {
        assert!(is_key(key), "{key:?}");
        self.command(&[b"delete", key]);
    }

    /// The commands from the one at a place on that may be sent before replies are read, and how
    /// many they are; none at the end.
    pub fn window(&self, first: usize) -> Option<(&[u8], usize)> {
        let start = first.checked_sub(1).map_or(0, |last| self.ends[last]);
        let ends = self.ends.get(first..).filter(|ends| !ends.is_empty())?;
        let count = ends.partition_point(|end| end - start <= WINDOW_BYTES).max(1);
        Some((&self.bytes[start..ends[count - 1]], count))
    }
}

/// Whether this can be a word of a command.
pub fn is_word(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte > b' ' && *byte != 0x7F)
}

/// Whether this can be a key.
pub fn is_key(bytes: &[u8]) -> bool {
    bytes.len() <= KEY_MAX && is_word(bytes)
}
