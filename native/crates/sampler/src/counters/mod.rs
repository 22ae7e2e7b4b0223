//! Counters that are read again and again: groups of columns, totals since the first reading.
//!
//! A `Source` opens its files once and says which columns it has; a `Sampler` reads sources into
//! buffers of its own and adds up what happened, so that a counter of 32 bits or of an odd range
//! may wrap around between two readings (once). After the first reading nothing is allocated,
//! except where a source says that it is costly.
//!
//! A file that is not there, or must not be read, is an `Absent` with the reason. A value that
//! could not be read this time is none, never zero.

pub mod cpu;
pub mod energy;
pub mod perf;
pub mod probes;
mod proc_file;
pub mod process;
pub mod psi;
pub mod softirqs;
pub mod softnet;
pub mod vm;

pub use proc_file::ProcFile;

/// How a raw number of the kernel's is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Grows; where it seems to shrink, nothing has happened.
    Total,
    /// Grows and begins again at 0 when it reaches this value.
    Wrapping(u64),
    /// A state, such as bytes in use: shown as it is.
    Level,
}

/// The range of the kernel's counters of type `unsigned int`.
pub const U32_RANGE: u64 = 1 << 32;

/// A counter: its name in messages, and how its raw number is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// As results have it, such as `host.softnet.processed.cpu0`.
    pub name: String,
    /// How to read it.
    pub kind: Kind,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Something that cannot be counted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Which group or counter.
    pub what: String,
    /// The reason, with the file or call that gave it.
    pub why: String,
}

impl Absent {
    /// Something that is not here, and why.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A group of counters that are read together.
pub trait Source {
    /// What it counts; the same for its whole life.
    fn columns(&self) -> Vec<Column>;

    /// Reads raw numbers into `raw`, which has a place for each column and holds none.
    fn read(&mut self, raw: &mut [Option<u64>]);

    /// Whether a reading costs so much that it is made every few seconds at most.
    fn is_costly(&self) -> bool {
        false
    }
}

/// Which sources a reading takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Those that are not costly; the values of others are none.
    Cheap,
    /// All.
    All,
}

struct Placed {
    source: Box<dyn Source>,
    first: usize,
    end: usize,
}

/// Sources, and what has happened since the first reading.
pub struct Sampler {
    placed: Vec<Placed>,
    columns: Vec<Column>,
    raw: Vec<Option<u64>>,
    last: Vec<Option<u64>>,
    sums: Vec<u64>,
    totals: Vec<Option<u64>>,
}

impl Sampler {
    /// Takes the first reading: totals count from here.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        let (mut placed, mut columns) = (Vec::new(), Vec::new());
        for source in sources {
            let first = columns.len();
            columns.extend(source.columns());
            placed.push(Placed { source, first, end: columns.len() });
        }
        let count = columns.len();
        let mut sampler = Self {
            placed,
            columns,
            raw: vec![None; count],
            last: vec![None; count],
            sums: vec![0; count],
            totals: vec![None; count],
        };
        sampler.read(Reading::All);
        sampler
    }

    /// All columns, in the order of `read`.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns that `Reading::Cheap` leaves out.
    pub fn costly(&self) -> impl Iterator<Item = &Column> {
        let costly = self.placed.iter().filter(|placed| placed.source.is_costly());
        costly.flat_map(|placed| &self.columns[placed.first..placed.end])
    }

    /// By column: what has been counted since the first reading, or what is the case now; none
    /// where it was not read, or could not be.
    pub fn read(&mut self, reading: Reading) -> &[Option<u64>] {
        self.raw.fill(None);
        for placed in &mut self.placed {
            if reading == Reading::All || !placed.source.is_costly() {
                placed.source.read(&mut self.raw[placed.first..placed.end]);
            }
        }
        for (place, column) in self.columns.iter().enumerate() {
            let Some(now) = self.raw[place] else {
                self.totals[place] = None;
                continue;
            };
            let gained = self.last[place].map_or(0, |then| gained(column.kind, then, now));
            self.last[place] = Some(now);
            self.sums[place] += gained;
            self.totals[place] =
                Some(if column.kind == Kind::Level { now } else { self.sums[place] });
        }
        &self.totals
    }
}

fn gained(kind: Kind, then: u64, now: u64) -> u64 {
    match kind {
        Kind::Wrapping(range) if now < then => range.saturating_sub(then) + now,
        Kind::Total | Kind::Wrapping(_) => now.saturating_sub(then),
        Kind::Level => 0,
    }
}

/// The decimal number that a text begins with; none if it begins with none, or with one too large.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The lines of a file.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// A field of a decimal number.
pub(crate) fn field(word: Option<&[u8]>) -> Option<u64> {
    let word = word?;
    word.iter().all(u8::is_ascii_digit).then(|| number(word)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told {
        columns: Vec<Column>,
        readings: std::vec::IntoIter<Vec<Option<u64>>>,
        costly: bool,
    }

    impl Source for Told {
        fn columns(&self) -> Vec<Column> {
            self.columns.clone()
        }

        fn read(&mut self, raw: &mut [Option<u64>]) {
            raw.copy_from_slice(&self.readings.next().unwrap());
        }

        fn is_costly(&self) -> bool {
            self.costly
        }
    }

    fn told(kind: Kind, readings: &[Option<u64>], costly: bool) -> Box<dyn Source> {
        let readings: Vec<_> = readings.iter().map(|value| vec![*value]).collect();
        let columns = vec![Column::new("x", kind)];
        Box::new(Told { columns, readings: readings.into_iter(), costly })
    }

    fn totals(kind: Kind, readings: &[Option<u64>]) -> Vec<Option<u64>> {
        let mut sampler = Sampler::new(vec![told(kind, readings, false)]);
        (1..readings.len()).map(|_| sampler.read(Reading::All)[0]).collect()
    }

    #[test]
    fn totals_count_from_the_first_reading() {
        assert_eq!(
            totals(Kind::Total, &[Some(7), Some(7), Some(10), Some(25)]),
            [Some(0), Some(3), Some(18)]
        );
    }

    #[test]
    fn a_counter_that_wraps_goes_on_counting() {
        let near = U32_RANGE - 5;
        assert_eq!(
            totals(Kind::Wrapping(U32_RANGE), &[Some(near), Some(3), Some(4)]),
            [Some(8), Some(9)]
        );
        assert_eq!(totals(Kind::Wrapping(1000), &[Some(990), Some(20)]), [Some(30)]);
    }

    #[test]
    fn one_that_seems_to_shrink_has_counted_nothing() {
        assert_eq!(totals(Kind::Total, &[Some(9), Some(8), Some(9)]), [Some(0), Some(1)]);
    }

    #[test]
    fn what_could_not_be_read_is_none_and_is_not_lost() {
        assert_eq!(totals(Kind::Total, &[Some(1), None, Some(5)]), [None, Some(4)]);
        assert_eq!(totals(Kind::Total, &[None, Some(5), Some(6)]), [Some(0), Some(1)]);
    }

    #[test]
    fn a_level_is_shown_as_it_is() {
        assert_eq!(totals(Kind::Level, &[Some(9), Some(3), Some(4)]), [Some(3), Some(4)]);
    }

    #[test]
    fn costly_sources_are_left_out_of_cheap_readings() {
        let mut sampler = Sampler::new(vec![
            told(Kind::Total, &[Some(1), Some(2), Some(4)], false),
            told(Kind::Total, &[Some(1), Some(9)], true),
        ]);
        assert_eq!(sampler.costly().count(), 1);
        assert_eq!(sampler.read(Reading::Cheap), [Some(1), None]);
        assert_eq!(sampler.read(Reading::All), [Some(3), Some(8)]);
    }

    #[test]
    fn a_field_is_a_whole_number_or_none() {
        assert_eq!(field(Some(b"12")), Some(12));
        for wrong in [&b""[..], b"1x", b"-1", b"99999999999999999999999"] {
            assert_eq!(field(Some(wrong)), None);
        }
        assert_eq!(field(None), None);
    }
}
