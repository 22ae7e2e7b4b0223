//! Words to a verb that goes on until standard input ends: `mark`, a line of its own.

use std::sync::mpsc::{Receiver, channel};

use crate::failure::Failure;

/// What was said on standard input.
pub enum Word {
    /// The line `mark`.
    Mark,
    /// Any other line that is not empty.
    Other(String),
}

/// Lines of standard input, from a thread that waits for them; the channel closes at their end.
pub fn listen() -> Receiver<Word> {
    let (sender, words) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            let word = match line.trim() {
                "" => continue,
                "mark" => Word::Mark,
                other => Word::Other(other.to_owned()),
            };
            if sender.send(word).is_err() {
                return;
            }
        }
    });
    words
}

/// A word that means nothing here ends the run.
pub fn unknown(word: &str) -> Failure {
    Failure::usage(format!("{word:?} is not `mark`"))
}
