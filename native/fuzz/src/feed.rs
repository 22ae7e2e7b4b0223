//! Bytes in pieces, as a connection gives them.

use super::memory;
use super::transcript::Transcript;

/// A codec with what drives it, in the place of a session.
pub trait Reader {
    /// Memory that it may hold whatever came, in bytes.
    const MEMORY: usize = 4096;

    /// Reads from the start of the input, and notes what it found.
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step;
}

/// How far a reader came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many bytes are done with, at least one; more may be read at once.
    Took(usize),
    /// So many bytes are done with, and nothing can be read before more have come.
    More(usize),
    /// Nothing is read any more.
    Over,
}

/// Memory that each byte that has arrived may account for: an error's words are made of the bytes
/// that caused it, in which one that is no text takes three, in a text that has grown by doubling.
const MEMORY_PER_BYTE: usize = 16;
/// Inputs up to this size are cut at every byte, larger ones at so many places.
const CUTS_MAX: usize = 256;
/// The most pieces that an input is fed in.
const PIECES_MAX: usize = 2048;

/// Reads the input whole, in two pieces cut at any byte, and in very small pieces.
///
/// # Panics
/// When the reader says different things, or takes more memory than the bytes account for.
pub fn same_however_cut<R: Reader>(input: &[u8], make: impl Fn() -> R) {
    let read = |cuts: &mut dyn Iterator<Item = usize>| {
        let mut transcript = Transcript::hashed();
        run(&mut make(), input, cuts, &mut transcript);
        transcript.hash()
    };
    let whole = read(&mut std::iter::empty());
    let step = input.len().div_ceil(CUTS_MAX).max(1);
    for cut in (1..input.len()).step_by(step) {
        if read(&mut std::iter::once(cut)) != whole {
            differs(input, &[cut], make());
        }
    }
    let step = input.len().div_ceil(PIECES_MAX).max(1);
    if read(&mut (0..input.len()).step_by(step)) != whole {
        differs(input, &(0..input.len()).step_by(step).collect::<Vec<_>>(), make());
    }
}

/// What a reader says of an input that comes whole.
pub fn words(input: &[u8], reader: &mut impl Reader) -> String {
    let mut transcript = Transcript::written();
    run(reader, input, &mut std::iter::empty(), &mut transcript);
    transcript.words().to_owned()
}

fn differs(input: &[u8], cuts: &[usize], mut reader: impl Reader) {
    let mut transcript = Transcript::written();
    run(&mut reader, input, &mut cuts.iter().copied(), &mut transcript);
    panic!(
        "cut at {cuts:?}, an input of {} bytes is read differently:\n{}",
        input.len(),
        transcript.words()
    );
}

/// Feeds the input in pieces that end at `cuts`, which rise. The last note says how many bytes the
/// reader took, unless it ended before.
fn run<R: Reader>(
    reader: &mut R,
    input: &[u8],
    cuts: &mut dyn Iterator<Item = usize>,
    transcript: &mut Transcript,
) {
    let mut taken = 0;
    let before = memory::start();
    for end in cuts.chain([input.len()]) {
        loop {
            let step = reader.read(&input[taken..end], transcript);
            let (most, allowed) = (memory::most_since(before), R::MEMORY + MEMORY_PER_BYTE * end);
            // Words that are kept take memory themselves.
            let is_little = most <= allowed || transcript.keeps_words();
            assert!(is_little, "{most} bytes of memory where {end} have arrived");
            match step {
                Step::Over => return,
                Step::More(bytes) => {
                    assert!(bytes <= end - taken, "more was taken than there is");
                    taken += bytes;
                    break;
                }
                Step::Took(bytes) => {
                    assert!((1..=end - taken).contains(&bytes), "{bytes} bytes were taken");
                    taken += bytes;
                }
            }
        }
    }
    transcript.note(format_args!("took {taken} of {} bytes", input.len()));
}
