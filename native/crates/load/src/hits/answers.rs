//! Answers as texts, and what each is compared with.

use std::sync::OnceLock;

use assay_wire::WireError;
use assay_wire::sql::Ask;
use assay_workload::hits::{Plan, Twin};

use super::queries::{self, Query};
use crate::client::Error;

/// So much of an answer is kept; what comes after counts by its hash.
const KEPT_BYTES: usize = 64 * 1024;
/// Letters of a text that a message shows.
const SHOWN: usize = 200;

/// What a server answered: its rows as lines, columns separated by tabs, null as `\N`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many rows.
    pub rows: u64,
    /// The rows, as far as they are kept.
    text: Vec<u8>,
    /// Of all that is not kept (FNV-1a).
    hash: u64,
}

impl Answer {
    fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(KEPT_BYTES - self.text.len());
        self.text.extend_from_slice(&bytes[..kept]);
        for byte in &bytes[kept..] {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn push_row(&mut self, columns: &[Option<&[u8]>]) {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                self.push(b"\t");
            }
            self.push(column.unwrap_or(b"\\N"));
        }
        self.push(b"\n");
        self.rows += 1;
    }

    /// An answer that is known.
    pub fn known(text: &str) -> Self {
        let mut answer = Self { rows: text.lines().count() as u64, ..Self::default() };
        answer.push(text.as_bytes());
        answer
    }

    /// The rows, as far as they are kept.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// Where another answer differs, in words.
    fn difference(&self, other: &Self) -> String {
        let (own, others) = (self.text(), other.text());
        let mut lines = own.lines().zip(others.lines()).enumerate();
        match lines.find(|(_, (own, other))| own != other) {
            Some((row, (own, other))) => {
                let (column, own, other) = first_difference(own, other);
                format!("row {}, column {column} was {own:?} and is {other:?}", row + 1)
            }
            None if self.rows != other.rows => {
                format!("it had {} rows and has {}", self.rows, other.rows)
            }
            None => "it differs behind the rows that are kept".to_owned(),
        }
    }
}

/// The column, from one, where two rows differ, and what they have there.
fn first_difference(own: &str, other: &str) -> (usize, String, String) {
    let (mut own, mut other) = (own.split('\t'), other.split('\t'));
    let mut column = 1;
    loop {
        match (own.next(), other.next()) {
            (Some(own), Some(other)) if own == other => column += 1,
            (own, other) => {
                let text = |column: Option<&str>| shown(column.unwrap_or_default());
                return (column, text(own), text(other));
            }
        }
    }
}

fn shown(line: &str) -> String {
    line.chars().take(SHOWN).collect()
}

/// Asks a query.
///
/// # Errors
/// Any of the session.
pub async fn ask<S: Ask>(session: &mut S, text: &str) -> Result<Answer, WireError> {
    let mut answer = Answer::default();
    session.ask(text, |columns| answer.push_row(columns)).await?;
    Ok(answer)
}

/// What an answer must be.
#[derive(Debug)]
pub enum Expected {
    /// What the workload's own twin says.
    Known(Answer),
    /// What the first answer was, of whichever connection.
    First(OnceLock<Answer>),
    /// As many rows as the first answer had: a query of somebody else's may have ties.
    Rows(OnceLock<u64>),
}

/// A query of a run.
#[derive(Debug)]
pub struct Asked {
    /// Its kind: q01 and so on, or the workload's.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
    expected: Expected,
}

impl Asked {
    /// A query and what is expected of it.
    pub fn new(kind: &'static str, text: String, expected: Expected) -> Self {
        Self { kind, text, expected }
    }

    /// Compares an answer.
    ///
    /// # Errors
    /// Both answers, in words, when it is not as expected.
    pub fn check(&self, answer: Answer) -> Result<(), Error> {
        let (difference, whose) = match &self.expected {
            Expected::Known(known) if *known == answer => return Ok(()),
            Expected::Known(known) => (known.difference(&answer), "the generator's own"),
            Expected::First(first) => {
                let first = first.get_or_init(|| answer.clone());
                if *first == answer {
                    return Ok(());
                }
                (first.difference(&answer), "the first")
            }
            Expected::Rows(first) => {
                let first = *first.get_or_init(|| answer.rows);
                if first == answer.rows {
                    return Ok(());
                }
                (format!("it had {first} rows and has {}", answer.rows), "the first")
            }
        };
        let Self { kind, text, .. } = self;
        Err(Error::Data(format!(
            "{kind} is answered otherwise than {whose} answer: {difference}: {}",
            shown(text)
        )))
    }
}

/// What a run asks: the queries in order, over again.
#[derive(Debug)]
pub struct Work(Vec<Asked>);

impl Work {
    /// Some queries; none is an error of the caller's.
    pub fn new(asked: Vec<Asked>) -> Self {
        Self(asked)
    }

    /// The workload's queries for a plan, each compared with the twin or its first answer.
    pub fn hits(plan: &Plan) -> Self {
        let twin = Twin::of(plan);
        let queries = queries::all(plan);
        Self(
            queries
                .into_iter()
                .enumerate()
                .map(|(place, it)| asked(name(place), it, &twin))
                .collect(),
        )
    }

    /// One query of many sums, compared with the exact ones.
    pub fn aggregate(plan: &Plan, sums: usize) -> Self {
        Self(vec![asked("query", queries::sums_of_width(sums), &Twin::of(plan))])
    }

    /// The queries.
    pub fn asked(&self) -> &[Asked] {
        &self.0
    }

    /// The query of a name alone; none if there is none.
    pub fn only(self, kind: &str) -> Option<Self> {
        let found = self.0.into_iter().find(|asked| asked.kind == kind);
        found.map(|asked| Self(vec![asked]))
    }

    /// The kinds, in order.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.0.iter().map(|asked| asked.kind).collect()
    }
}

fn asked(kind: &'static str, query: Query, twin: &Twin) -> Asked {
    let expected = match query.twin {
        Some(question) => Expected::Known(Answer::known(&twin.answer(question))),
        None => Expected::First(OnceLock::new()),
    };
    Asked::new(kind, query.text, expected)
}

/// Asks everything that the twin answers too; what differs, in words.
///
/// # Errors
/// Any of the session.
pub async fn check<S: Ask>(session: &mut S, plan: &Plan) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    for asked in Work::hits(plan).asked() {
        if matches!(asked.expected, Expected::Known(_)) {
            let answer = ask(session, &asked.text).await?;
            faults.extend(asked.check(answer).err().map(|error| match error {
                Error::Data(fault) => fault,
                other => other.to_string(),
            }));
        }
    }
    Ok(faults)
}

/// The name of a query by its place. The few names live as long as the process.
pub fn name(place: usize) -> &'static str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| (1..=QUERIES_MAX).map(|it| format!("q{it:02}")).collect());
    names.get(place).map_or("others", String::as_str)
}

/// More queries than anybody's list has.
pub const QUERIES_MAX: usize = 999;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[Option<&[u8]>]]) -> Answer {
        let mut answer = Answer::default();
        rows.iter().for_each(|row| answer.push_row(row));
        answer
    }

    #[test]
    fn an_answer_is_its_rows_as_lines() {
        let answer = answer(&[&[Some(b"1"), None], &[Some(b""), Some(b"x")]]);
        assert_eq!((answer.rows, answer.text().as_str()), (2, "1\t\\N\n\tx\n"));
        assert_eq!(answer, Answer::known("1\t\\N\n\tx\n"));
    }

    #[test]
    fn the_first_answer_stands_and_another_one_is_shown_beside_it() {
        let asked = Asked::new("q07", "SELECT 1".to_owned(), Expected::First(OnceLock::new()));
        let (one, two) = (Answer::known("a\nb\t1\n"), Answer::known("a\nb\t2\n"));
        asked.check(one.clone()).unwrap();
        asked.check(one).unwrap();
        let wrong = asked.check(two).unwrap_err().to_string();
        let both = r#"q07 is answered otherwise than the first answer: row 2, column 2 was "1" and is "2""#;
        assert!(wrong.contains(both), "{wrong}");
    }

    #[test]
    fn a_known_answer_is_compared_from_the_first_time_on() {
        let asked = Asked::new("q01", String::new(), Expected::Known(Answer::known("5\n")));
        asked.check(Answer::known("5\n")).unwrap();
        assert!(asked.check(Answer::known("6\n")).is_err());
        let longer = asked.check(Answer::known("5\n5\n")).unwrap_err().to_string();
        assert!(longer.contains("had 1 rows and has 2"), "{longer}");
    }

    #[test]
    fn only_the_number_of_rows_counts_where_there_may_be_ties() {
        let asked = Asked::new("q01", String::new(), Expected::Rows(OnceLock::new()));
        asked.check(Answer::known("5\n")).unwrap();
        asked.check(Answer::known("6\n")).unwrap();
        assert!(asked.check(Answer::known("6\n7\n")).is_err());
    }

    #[test]
    fn long_answers_differ_by_what_is_not_kept() {
        let row = "x".repeat(KEPT_BYTES);
        let (one, two) = (Answer::known(&format!("{row}1\n")), Answer::known(&format!("{row}2\n")));
        assert_ne!(one, two);
        assert_eq!(one.text().len(), KEPT_BYTES);
        assert!(one.difference(&two).contains("behind"));
    }

    #[test]
    fn queries_are_counted_from_one() {
        assert_eq!((name(0), name(42), name(99)), ("q01", "q43", "q100"));
    }
}
