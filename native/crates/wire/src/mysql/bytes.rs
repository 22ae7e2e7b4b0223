//! Numbers and strings as the protocol writes them: little endian, lengths first.

use super::protocol;
use crate::WireError;

/// Bytes that are read from their beginning. Nothing is read beyond their end.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    /// The next bytes, so many.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    /// An integer of one byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// An integer of two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// An integer of four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// An integer of eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// An integer of one, three, four or nine bytes. The marks of NULL (0xFB) and of an error
    /// (0xFF) are none.
    #[inline]
    pub fn length(&mut self) -> Option<u64> {
        match self.u8()? {
            short @ ..=0xFA => Some(u64::from(short)),
            0xFC => self.u16().map(u64::from),
            0xFD => {
                let [a, b, c] = self.array()?;
                Some(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xFE => self.u64(),
            _ => None,
        }
    }

    /// Bytes after their length. The length is not believed before they are there.
    #[inline]
    pub fn string(&mut self) -> Option<&'b [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Bytes up to a zero, which is passed over.
    pub fn until_zero(&mut self) -> Option<&'b [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let taken = self.take(end)?;
        self.u8()?;
        Some(taken)
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.0)
    }
}

/// What was read, or an error that names the packet that ended too early.
pub(crate) fn whole<T>(read: Option<T>, packet: &str) -> Result<T, WireError> {
    read.ok_or_else(|| protocol(format!("{packet} ends too early")))
}

/// Writes an integer as [`Bytes::length`] reads it.
#[inline]
pub fn put_length(out: &mut Vec<u8>, length: u64) {
    let bytes = length.to_le_bytes();
    match length {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Writes bytes after their length.
#[inline]
pub fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    put_length(out, text.len() as u64);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_as_it_was_written_and_takes_the_fewest_bytes() {
        for (length, bytes) in [
            (0, 1),
            (250, 1),
            (251, 3),
            (0xFFFF, 3),
            (0x1_0000, 4),
            (0xFF_FFFF, 4),
            (0x100_0000, 9),
            (u64::MAX, 9),
        ] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            assert_eq!(out.len(), bytes, "{length}");
            let mut written = Bytes(&out);
            assert_eq!((written.length(), written.0.len()), (Some(length), 0));
            for end in 0..out.len() {
                assert_eq!(Bytes(&out[..end]).length(), None, "{length} cut at {end}");
            }
        }
    }

    #[test]
    fn a_string_longer_than_its_packet_is_none() {
        assert_eq!(
            Bytes(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).string(),
            None
        );
        assert_eq!(Bytes(&[3, b'a', b'b']).string(), None);
        assert_eq!(Bytes(&[2, b'a', b'b']).string(), Some(&b"ab"[..]));
        assert_eq!(Bytes(b"ab\0c").until_zero(), Some(&b"ab"[..]));
        assert_eq!(Bytes(b"ab").until_zero(), None);
    }
}
