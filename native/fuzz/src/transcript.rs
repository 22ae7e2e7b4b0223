//! What a codec said, so that two readings can be compared without keeping them.

use std::fmt::{self, Debug, Write as _};

/// The words of a codec one after another: a hash of them, and themselves where they are wanted.
pub struct Transcript {
    hash: u64,
    words: Option<String>,
}

impl Transcript {
    /// One that keeps the hash only, and takes no memory.
    pub fn hashed() -> Self {
        Self { hash: OFFSET, words: None }
    }

    /// One that keeps all words.
    pub fn written() -> Self {
        Self { hash: OFFSET, words: Some(String::new()) }
    }

    /// Adds an event.
    pub fn note(&mut self, event: impl Debug) {
        // Writing into a hash or a text cannot fail.
        let _ = writeln!(self, "{event:?}");
    }

    /// Adds bytes of a body, which may come in any number of pieces.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.hash = bytes.iter().fold(self.hash, |hash, byte| mixed(hash, *byte));
        if let Some(words) = &mut self.words {
            words.push_str(&bytes.escape_ascii().to_string());
        }
    }

    /// Stands for the whole.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether it keeps all words.
    pub fn keeps_words(&self) -> bool {
        self.words.is_some()
    }

    /// All words; none were kept of one that only hashes.
    pub fn words(&self) -> &str {
        self.words.as_deref().unwrap_or_default()
    }
}

impl fmt::Write for Transcript {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.hash = text.bytes().fold(self.hash, mixed);
        if let Some(words) = &mut self.words {
            words.push_str(text);
        }
        Ok(())
    }
}

/// FNV-1a, which does not see where one write ends and the next begins.
const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;

fn mixed(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
}
