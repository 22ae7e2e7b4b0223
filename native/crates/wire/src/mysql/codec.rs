//! Packets out of a stream of bytes, and into one.
//!
//! A packet is a length of three bytes, a number that counts the packets of one exchange, and so
//! many bytes. One whose length is the largest, 16 MiB - 1, goes on in the next.

use super::protocol;
use crate::WireError;

/// The most bytes of one part of a packet.
pub const PART_BYTES: usize = 0xFF_FFFF;
/// Bytes before each part.
pub const HEADER_BYTES: usize = 4;
/// The largest packet that is put together. A server can be set to send 1 GiB, which each of many
/// connections would hold; no load asks for more than a few MiB.
pub const PACKET_BYTES_MAX: usize = 64 << 20;
/// The first byte of an error.
const ERROR: u8 = 0xFF;
/// Memory for a large packet that is kept for the next.
const KEPT_BYTES: usize = 1 << 20;

/// What the first bytes of an input are.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'b> {
    /// Too few yet.
    More,
    /// A part of a packet that goes on, and which was put aside.
    Part {
        /// Bytes of the input that are done with.
        bytes: usize,
    },
    /// A whole packet.
    Packet {
        /// What it says.
        payload: &'b [u8],
        /// Bytes of the input that are done with.
        bytes: usize,
    },
}

/// Finds the packets of one direction.
#[derive(Debug, Default)]
pub struct Packets {
    /// The number that the next part has.
    number: u8,
    /// The parts of a packet that goes on.
    parts: Vec<u8>,
    /// Whether the packet in `parts` was handed out.
    is_over: bool,
}

impl Packets {
    /// Says which number comes next: an answer goes on counting after its request.
    pub fn expect(&mut self, number: u8) {
        self.number = number;
    }

    /// The number that comes next.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// The next packet of an input, if it is there whole.
    ///
    /// # Errors
    /// `Protocol` when a number is out of turn or a packet is larger than any server sends. An
    /// error's number does not matter: what the server has to say is worth more than the count.
    #[inline]
    pub fn next<'b>(&'b mut self, input: &'b [u8]) -> Result<Next<'b>, WireError> {
        let Some((&[a, b, c, number], rest)) = input.split_first_chunk() else {
            return Ok(Next::More);
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let Some(payload) = rest.get(..length) else {
            return Ok(Next::More);
        };
        if number != self.number && payload.first() != Some(&ERROR) {
            return Err(self.out_of_turn(number));
        }
        self.number = number.wrapping_add(1);
        let bytes = HEADER_BYTES + length;
        if length < PART_BYTES && (self.parts.is_empty() || self.is_over) {
            return Ok(Next::Packet { payload, bytes });
        }
        self.part(payload, bytes)
    }

    #[cold]
    fn out_of_turn(&self, number: u8) -> WireError {
        protocol(format!("a packet has number {number} where {} was due", self.number))
    }

    #[cold]
    fn part(&mut self, payload: &[u8], bytes: usize) -> Result<Next<'_>, WireError> {
        if self.is_over {
            self.parts.clear();
            self.parts.shrink_to(KEPT_BYTES);
            self.is_over = false;
        }
        if self.parts.len() + payload.len() > PACKET_BYTES_MAX {
            return Err(protocol(format!("a packet is larger than {PACKET_BYTES_MAX} bytes")));
        }
        self.parts.extend_from_slice(payload);
        if payload.len() == PART_BYTES {
            return Ok(Next::Part { bytes });
        }
        self.is_over = true;
        Ok(Next::Packet { payload: &self.parts, bytes })
    }

    /// Gives the memory of a large packet back.
    pub fn forget_parts(&mut self) {
        if self.is_over {
            self.parts = Vec::new();
            self.is_over = false;
        }
    }
}

/// Begins a packet at the end of `out`; its place, for [`finish`].
#[inline]
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// Writes the headers of the packet that began at `start` and goes to the end of `out`; the number
/// that the packet after it has.
#[inline]
pub fn finish(out: &mut Vec<u8>, start: usize, number: u8) -> u8 {
    let length = out.len() - start - HEADER_BYTES;
    if length >= PART_BYTES {
        return split(out, start, number);
    }
    put_header(&mut out[start..], length, number);
    number.wrapping_add(1)
}

#[inline]
fn put_header(out: &mut [u8], length: usize, number: u8) {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    out[..HEADER_BYTES].copy_from_slice(&[a, b, c, number]);
}

/// Cuts a packet into parts. The last is shorter than the largest, and may be empty.
#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut number: u8) -> u8 {
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    let mut rest = &payload[..];
    loop {
        let (part, left) = rest.split_at(rest.len().min(PART_BYTES));
        let header = begin(out);
        out.extend_from_slice(part);
        put_header(&mut out[header..], part.len(), number);
        number = number.wrapping_add(1);
        rest = left;
        if part.len() < PART_BYTES {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All packets of an input that comes in pieces which end at `cuts`.
    fn packets(input: &[u8], cuts: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
        let (mut reader, mut found, mut used) = (Packets::default(), Vec::new(), 0);
        for end in cuts.into_iter().chain([input.len()]) {
            loop {
                match reader.next(&input[used..end]).unwrap() {
                    Next::More => break,
                    Next::Part { bytes } => used += bytes,
                    Next::Packet { payload, bytes } => {
                        found.push(payload.to_vec());
                        used += bytes;
                    }
                }
            }
        }
        assert_eq!(used, input.len(), "bytes are left over");
        found
    }

    fn written(payloads: &[&[u8]]) -> Vec<u8> {
        let (mut out, mut number) = (Vec::new(), 0);
        for payload in payloads {
            let start = begin(&mut out);
            out.extend_from_slice(payload);
            number = finish(&mut out, start, number);
        }
        out
    }

    #[test]
    fn packets_come_out_as_they_went_in_wherever_the_stream_is_cut() {
        let payloads: [&[u8]; 4] = [b"one", b"", b"\x03three and more", &[7; 300]];
        let stream = written(&payloads);
        assert_eq!(packets(&stream, []), payloads);
        assert_eq!(packets(&stream, 0..stream.len()), payloads, "byte by byte");
        for cut in 0..stream.len() {
            assert_eq!(packets(&stream, [cut]), payloads, "cut at {cut}");
        }
    }

    #[test]
    fn a_packet_of_the_largest_part_and_beyond_goes_on_in_the_next() {
        for (length, parts) in [
            (PART_BYTES - 1, 1),
            (PART_BYTES, 2),
            (PART_BYTES + 1, 2),
            (2 * PART_BYTES - 1, 2),
            (2 * PART_BYTES, 3),
        ] {
            let large: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
            let stream = written(&[b"before", &large, b"after"]);
            let overhead = (parts + 2) * HEADER_BYTES + b"before".len() + b"after".len();
            assert_eq!(stream.len(), length + overhead, "{length}");
            let cuts = [11, 5000, PART_BYTES + 13, PART_BYTES + 14, PART_BYTES + 15];
            let found = packets(&stream, cuts.into_iter().filter(|&cut| cut < stream.len()));
            assert_eq!(found.len(), 3);
            assert!(found[1] == large, "{length} bytes come out changed");
            assert_eq!((&found[0][..], &found[2][..]), (&b"before"[..], &b"after"[..]));
        }
    }

    #[test]
    fn numbers_count_on_past_255() {
        let payloads: Vec<Vec<u8>> = (0..600_u32).map(|n| n.to_le_bytes().to_vec()).collect();
        let slices: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        assert_eq!(packets(&written(&slices), []), payloads);
    }

    #[test]
    fn a_number_out_of_turn_is_an_error_but_an_errors_number_does_not_matter() {
        let mut reader = Packets::default();
        let wrong = reader.next(&[1, 0, 0, 3, b'x']).unwrap_err().to_string();
        assert!(wrong.contains("number 3 where 0 was due"), "{wrong}");
        let error = [1, 0, 0, 9, ERROR];
        assert_eq!(reader.next(&error).unwrap(), Next::Packet { payload: &[ERROR], bytes: 5 });
    }
}
