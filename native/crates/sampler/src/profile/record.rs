//! Records of a ring buffer, as perf_event_open(2) lays them out.

/// What every sample is asked to carry: instruction pointer, process and thread, time, call chain.
pub const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5;

const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const HEADER_BYTES: usize = 8;

/// Entries of a call chain from here up say whose the entries behind them are.
const CONTEXT_FIRST: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;

/// One address of a call chain, the place of a call already moved into the calling instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Whether it is of the kernel.
    pub is_kernel: bool,
    /// Where, in that process.
    pub at: u64,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A thread was on a CPU.
    Sample {
        /// Its process.
        pid: u32,
        /// By the monotonic clock.
        time_ns: u64,
        /// Innermost first.
        chain: Vec<Address>,
    },
    /// Samples that were not written, since the buffer was full.
    Lost(u64),
    /// Anything else.
    Other,
}

/// Takes the first record of `bytes`, and says how long it is; none if it is not whole.
pub fn first(bytes: &[u8]) -> Option<(Record, usize)> {
    let kind = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let size = usize::from(u16::from_ne_bytes(bytes.get(6..8)?.try_into().ok()?));
    let body = bytes.get(HEADER_BYTES..size)?;
    let record = match kind {
        SAMPLE => sample(body).unwrap_or(Record::Other),
        LOST => Record::Lost(word(body, 1)?),
        LOST_SAMPLES => Record::Lost(word(body, 0)?),
        _ => Record::Other,
    };
    Some((record, size))
}

fn word(body: &[u8], place: usize) -> Option<u64> {
    let bytes = body.get(8 * place..8 * place + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

fn sample(body: &[u8]) -> Option<Record> {
    let pid = u32::from_ne_bytes(body.get(8..12)?.try_into().ok()?);
    let time_ns = word(body, 2)?;
    let entries = usize::try_from(word(body, 3)?).ok()?;
    let entries: Option<Vec<u64>> = (0..entries).map(|entry| word(body, 4 + entry)).collect();
    let mut chain = chain(&entries?);
    if chain.is_empty() {
        let at = word(body, 0)?;
        chain.push(Address { is_kernel: at >= 1 << 63, at });
    }
    Some(Record::Sample { pid, time_ns, chain })
}

/// The first entry of each context is where it was; all others are where a call returns to, and the
/// call itself stands before that.
fn chain(entries: &[u64]) -> Vec<Address> {
    let mut found = Vec::new();
    let (mut is_kernel, mut is_first, mut is_known) = (false, true, false);
    for entry in entries {
        if *entry >= CONTEXT_FIRST {
            is_kernel = *entry == CONTEXT_KERNEL;
            is_known = is_kernel || *entry == CONTEXT_USER;
            is_first = true;
        } else if is_known {
            let at = if is_first { *entry } else { entry.saturating_sub(1) };
            found.push(Address { is_kernel, at });
            is_first = false;
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn bytes_of(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = u16::try_from(HEADER_BYTES + 8 * words.len()).unwrap();
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(0_u16.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    pub fn sample_bytes(pid: u32, time_ns: u64, entries: &[u64]) -> Vec<u8> {
        let mut ids = pid.to_ne_bytes().to_vec();
        ids.extend(7_u32.to_ne_bytes());
        let ids = u64::from_ne_bytes(ids.try_into().unwrap());
        let mut words = vec![entries.get(1).copied().unwrap_or(0x99), ids, time_ns];
        words.push(entries.len() as u64);
        words.extend(entries);
        bytes_of(SAMPLE, &words)
    }

    fn user(at: u64) -> Address {
        Address { is_kernel: false, at }
    }

    #[test]
    fn a_chain_has_its_kernel_part_first_and_calls_are_before_their_returns() {
        let kernel_at = 0xffff_ffff_8100_0010;
        let entries = [CONTEXT_KERNEL, kernel_at, kernel_at + 0x40, CONTEXT_USER, 0x1000, 0x2000];
        let bytes = sample_bytes(5, 77, &entries);
        let kernel = |at| Address { is_kernel: true, at };
        let chain = vec![kernel(kernel_at), kernel(kernel_at + 0x3f), user(0x1000), user(0x1fff)];
        let expected = Record::Sample { pid: 5, time_ns: 77, chain };
        assert_eq!(first(&bytes), Some((expected, bytes.len())));
    }

    #[test]
    fn entries_of_a_guest_are_left_out() {
        let guest = -2048_i64 as u64;
        let bytes = sample_bytes(5, 1, &[guest, 0x5000, CONTEXT_USER, 0x1000]);
        let Some((Record::Sample { chain, .. }, _)) = first(&bytes) else { panic!("no sample") };
        assert_eq!(chain, [user(0x1000)]);
    }

    #[test]
    fn a_sample_without_a_chain_is_where_it_was() {
        let bytes = sample_bytes(5, 1, &[]);
        let Some((Record::Sample { chain, .. }, _)) = first(&bytes) else { panic!("no sample") };
        assert_eq!(chain, [user(0x99)]);
    }

    #[test]
    fn what_was_lost_is_counted_by_both_kinds_of_records() {
        assert_eq!(first(&bytes_of(LOST, &[3, 12])), Some((Record::Lost(12), 24)));
        assert_eq!(first(&bytes_of(LOST_SAMPLES, &[9])), Some((Record::Lost(9), 16)));
        assert_eq!(first(&bytes_of(1, &[0])), Some((Record::Other, 16)));
    }

    #[test]
    fn a_torn_record_is_none_and_a_chain_beyond_its_record_is_no_sample() {
        let bytes = sample_bytes(5, 1, &[CONTEXT_USER, 0x1000]);
        for length in 0..bytes.len() {
            assert_eq!(first(&bytes[..length]), None, "{length}");
        }
        let lying = bytes_of(SAMPLE, &[0x1000, 5, 1, u64::MAX]);
        assert_eq!(first(&lying), Some((Record::Other, lying.len())));
    }
}
