//! A page that the processes of all arms share: who is ready, and whose turn it is.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};

const BYTES: usize = 4096;
/// How long to sleep on a word at most, so that the end of another process is noticed.
const NAP: Duration = Duration::from_millis(50);

/// The words on the page, by their place.
#[derive(Clone, Copy)]
enum Word {
    /// Arms that have warmed up.
    Ready,
    /// The number of the slice whose turn it is.
    Turn,
    /// One more than the arm that gave up; 0 while none has.
    Lost,
}

/// Why somebody waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It came.
    Came,
    /// This process is to end.
    Stopped,
    /// That arm gave up.
    Lost(u32),
    /// Nothing happened for too long.
    Silence,
}

/// The page.
pub struct Board {
    page: MmapRaw,
    /// Whether this process is to end.
    stop: &'static AtomicBool,
}

impl Board {
    /// Maps a file of at least a page, of zeros at first.
    pub fn open(path: &Path, stop: &'static AtomicBool) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < BYTES as u64 {
            return Err(io::Error::other(format!("it has fewer than {BYTES} bytes")));
        }
        Ok(Self { page: MmapOptions::new().len(BYTES).map_raw(&file)?, stop })
    }

    fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: the page is mapped as long as `self` lives, is aligned, holds more words than there
        // are, and is only ever read and written through atomics.
        unsafe { &*self.page.as_mut_ptr().cast::<AtomicU32>().add(word as usize) }
    }

    /// Says that this arm has warmed up.
    pub fn arrive(&self) {
        self.word(Word::Ready).fetch_add(1, Ordering::AcqRel);
        wake(self.word(Word::Ready));
    }

    /// Waits until all have.
    pub fn wait_for_all(&self, arms: u32, patience: Duration) -> Waited {
        self.wait(Word::Ready, patience, |ready| ready >= arms)
    }

    /// Waits for the turn of a slice.
    pub fn wait_for_turn(&self, slice: u32, patience: Duration) -> Waited {
        self.wait(Word::Turn, patience, |turn| turn >= slice)
    }

    /// Ends the turn of a slice.
    pub fn pass(&self, slice: u32) {
        self.word(Word::Turn).store(slice + 1, Ordering::Release);
        wake(self.word(Word::Turn));
    }

    /// Tells the others that this arm takes no more turns.
    pub fn give_up(&self, arm: u32) {
        let lost = self.word(Word::Lost);
        // The first who gives up is the one to name.
        let _ = lost.compare_exchange(0, arm + 1, Ordering::AcqRel, Ordering::Acquire);
        wake(self.word(Word::Ready));
        wake(self.word(Word::Turn));
    }

    fn wait(&self, word: Word, patience: Duration, is_due: impl Fn(u32) -> bool) -> Waited {
        let since = Instant::now();
        loop {
            let seen = self.word(word).load(Ordering::Acquire);
            if is_due(seen) {
                return Waited::Came;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Waited::Stopped;
            }
            if let Some(arm) = self.word(Word::Lost).load(Ordering::Acquire).checked_sub(1) {
                return Waited::Lost(arm);
            }
            if since.elapsed() > patience {
                return Waited::Silence;
            }
            sleep_while(self.word(word), seen);
        }
    }
}

/// Sleeps until somebody wakes the word, or for a nap; not at all if it has changed.
fn sleep_while(word: &AtomicU32, seen: u32) {
    let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP.as_nanos() as libc::c_long };
    // SAFETY: the word outlives the call, and the kernel only reads it and the time.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const nap);
    }
}

fn wake(word: &AtomicU32) {
    // SAFETY: the kernel takes the address for a name and does not touch what is there.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn boards() -> (Board, Board) {
        let path =
            std::env::temp_dir().join(format!("assay-board-{}-{:p}", std::process::id(), &BYTES));
        let path = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&path, [0; BYTES]).unwrap();
        let pair = (Board::open(&path, &NEVER).unwrap(), Board::open(&path, &NEVER).unwrap());
        std::fs::remove_file(&path).unwrap();
        pair
    }

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn a_turn_that_is_passed_wakes_the_next() {
        let (one, other) = boards();
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || other.wait_for_turn(1, LONG));
            assert_eq!(one.wait_for_turn(0, LONG), Waited::Came);
            one.pass(0);
            assert_eq!(waits.join().unwrap(), Waited::Came);
        });
    }

    #[test]
    fn the_first_turn_waits_for_all_arms() {
        let (one, other) = boards();
        one.arrive();
        assert_eq!(one.wait_for_all(2, SHORT), Waited::Silence);
        other.arrive();
        assert_eq!(one.wait_for_all(2, LONG), Waited::Came);
    }

    #[test]
    fn who_gives_up_is_named_to_those_that_wait() {
        let (one, other) = boards();
        one.give_up(3);
        other.give_up(1);
        assert_eq!(other.wait_for_turn(1, LONG), Waited::Lost(3));
    }

    #[test]
    fn a_file_that_is_too_short_is_no_board() {
        let path = std::env::temp_dir().join(format!("assay-short-board-{}", std::process::id()));
        std::fs::write(&path, [0; 12]).unwrap();
        assert!(Board::open(&path, &NEVER).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
