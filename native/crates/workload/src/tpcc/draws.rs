//! TPC-C's random draws: non-uniform numbers, strings, last names (clauses 2.1.6, 4.3.2).

use std::ops::RangeInclusive;

use super::scale::Scale;
use assay_random::Random;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const LAST_NAME_A: u64 = 255;
const CUSTOMER_A: u64 = 1023;
const ITEM_A: u64 = 8191;
const PURPOSE: u64 = 0x7470_6363_2043;

/// Uniform over a closed range.
pub fn uniform(random: &mut Random, range: RangeInclusive<u64>) -> u64 {
    range.start() + random.below(range.end() - range.start() + 1)
}

/// True in `percent` of a hundred draws.
pub fn percent(random: &mut Random, percent: u64) -> bool {
    random.below(100) < percent
}

/// NURand(A, x, y) with its constant C, clause 2.1.6.
pub fn nurand(random: &mut Random, a: u64, c: u64, range: RangeInclusive<u64>) -> u64 {
    let (x, y) = (*range.start(), *range.end());
    let mixed = uniform(random, 0..=a) | uniform(random, x..=y);
    (mixed + c) % (y - x + 1) + x
}

/// The constants C of one database: drawn once from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For last names while loading.
    pub last_name_load: u64,
    /// For last names while running; its distance from the other is legal by clause 2.1.6.1.
    pub last_name_run: u64,
    /// For customer numbers.
    pub customer: u64,
    /// For item numbers.
    pub item: u64,
}

impl Constants {
    /// The constants of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, PURPOSE);
        let last_name_load = uniform(&mut random, 0..=LAST_NAME_A);
        let last_name_run = loop {
            let candidate = uniform(&mut random, 0..=LAST_NAME_A);
            if is_legal_delta(last_name_load.abs_diff(candidate)) {
                break candidate;
            }
        };
        let customer = uniform(&mut random, 0..=CUSTOMER_A);
        let item = uniform(&mut random, 0..=ITEM_A);
        Self { last_name_load, last_name_run, customer, item }
    }

    /// A last name's number for a loaded customer.
    pub fn loaded_name(&self, random: &mut Random, scale: &Scale) -> u16 {
        nurand(random, LAST_NAME_A, self.last_name_load, names(scale)) as u16
    }

    /// A last name's number for an input.
    pub fn name(&self, random: &mut Random, scale: &Scale) -> u16 {
        nurand(random, LAST_NAME_A, self.last_name_run, names(scale)) as u16
    }

    /// A customer number for an input.
    pub fn customer(&self, random: &mut Random, scale: &Scale) -> u16 {
        nurand(random, CUSTOMER_A, self.customer, 1..=u64::from(scale.customers)) as u16
    }

    /// An item number for an input.
    pub fn item(&self, random: &mut Random, scale: &Scale) -> u32 {
        nurand(random, ITEM_A, self.item, 1..=u64::from(scale.items)) as u32
    }
}

fn names(scale: &Scale) -> RangeInclusive<u64> {
    0..=u64::from(scale.names()) - 1
}

/// Whether C-Load and C-Run may differ by this much: from 65 to 119, but not 96 or 112.
pub fn is_legal_delta(delta: u64) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// The last name of a number from 0 to 999: a syllable per decimal digit.
pub fn last_name(number: u16) -> String {
    [number / 100, number / 10 % 10, number % 10]
        .map(|digit| SYLLABLES[usize::from(digit)])
        .concat()
}

/// A text of random length in a fixed buffer: loading makes millions of them.
#[derive(Clone, Debug)]
pub struct Words {
    bytes: [u8; 500],
    length: usize,
}

impl Words {
    /// A random a-string: alphanumeric, its length uniform in a range that ends at most at 500.
    pub fn letters(random: &mut Random, lengths: RangeInclusive<u64>) -> Self {
        Self::of(ALPHANUMERIC, random, lengths)
    }

    /// A random n-string: decimal digits.
    pub fn digits(random: &mut Random, length: u64) -> Self {
        Self::of(&ALPHANUMERIC[..10], random, length..=length)
    }

    /// Two capital letters.
    pub fn state(random: &mut Random) -> Self {
        Self::of(&ALPHANUMERIC[10..36], random, 2..=2)
    }

    /// I_DATA and S_DATA: an a-string of 26 to 50, of which one in ten has ORIGINAL somewhere.
    pub fn item_data(random: &mut Random) -> Self {
        let mut words = Self::letters(random, 26..=50);
        if percent(random, 10) {
            let last = (words.length - ORIGINAL.len()) as u64;
            let start = uniform(random, 0..=last) as usize;
            words.bytes[start..start + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        words
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn of(alphabet: &[u8], random: &mut Random, lengths: RangeInclusive<u64>) -> Self {
        let mut words = Self { bytes: [0; 500], length: uniform(random, lengths) as usize };
        for byte in &mut words.bytes[..words.length] {
            *byte = alphabet[random.below(alphabet.len() as u64) as usize];
        }
        words
    }
}

const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether I_DATA or S_DATA has ORIGINAL in it.
pub fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|window| window == ORIGINAL)
}
