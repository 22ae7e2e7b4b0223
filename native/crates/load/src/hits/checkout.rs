//! Somebody's own files of a benchmark over a table `hits`: statements that make it, its rows as
//! lines in COPY's text format, queries one a line. They are read, and nothing of them is here.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::answers::{Asked, Expected, QUERIES_MAX, Work, ask, name};
use super::schema;
use crate::client::Error;
use crate::clients::Open;

/// Lines are handed on together when they are so long.
const CHUNK_BYTES: usize = 64 * 1024;

/// The three files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    create: PathBuf,
    queries: PathBuf,
    data: PathBuf,
    pub(crate) lines: u64,
}

impl Checkout {
    /// Files of statements that make the table, separated by semicolons; of queries, one a line;
    /// and of rows, one a line, which are counted.
    ///
    /// # Errors
    /// `File` when the rows cannot be read.
    pub fn new(create: PathBuf, queries: PathBuf, data: PathBuf) -> Result<Self, Error> {
        let checkout = Self { create, queries, data, lines: 0 };
        Ok(Self { lines: checkout.count()?, ..checkout })
    }

    /// Reads the queries. Answers may have ties, so that only the number of rows is compared.
    ///
    /// # Errors
    /// `File` when it cannot be read, is empty, or has too many.
    pub fn work(&self) -> Result<Work, Error> {
        let text = read(&self.queries)?;
        let lines = text.lines().map(|line| line.trim().trim_end_matches(';').trim_end());
        let texts = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
        let asked: Vec<_> = texts
            .enumerate()
            .map(|(place, text)| {
                Asked::new(name(place), text.to_owned(), Expected::Rows(OnceLock::new()))
            })
            .collect();
        match asked.len() {
            1..=QUERIES_MAX => Ok(Work::new(asked)),
            count => {
                let what =
                    format!("has {count} queries: must be from 1 to {QUERIES_MAX}, one a line");
                Err(useless(&self.queries, what))
            }
        }
    }

    /// Drops the table and runs the statements that make it.
    ///
    /// # Errors
    /// Any of the session, and `File` when it cannot be read.
    pub async fn create<S: Open>(&self, session: &mut S) -> Result<(), Error> {
        let text = read(&self.create)?;
        session.batch(&schema::drop_table(schema::TABLE)).await?;
        for statement in statements(&text) {
            session.batch(&statement).await?;
        }
        Ok(())
    }

    /// Loads the rows, counting them into `rows`.
    ///
    /// # Errors
    /// Any of the session, and `File` when it cannot be read.
    pub async fn load<S: Open>(&self, session: &mut S, rows: &AtomicU64) -> Result<(), Error> {
        let mut lines = self.lines()?;
        let mut failed = None;
        let next = |chunk: &mut Vec<u8>| {
            while chunk.len() < CHUNK_BYTES {
                match lines.read_until(b'\n', chunk) {
                    Ok(0) => return false,
                    Ok(_) => {
                        if !chunk.ends_with(b"\n") {
                            chunk.push(b'\n');
                        }
                        rows.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        failed = Some(useless(&self.data, error.to_string()));
                        return false;
                    }
                }
            }
            true
        };
        let added = session.add_all(schema::TABLE, next).await;
        failed.map_or(Ok(()), Err)?;
        added?;
        Ok(())
    }

    /// What is wrong with the table, in words: it has as many rows as the file has lines.
    ///
    /// # Errors
    /// Any of the session, and `File` when it cannot be read.
    pub async fn check<S: Open>(&self, session: &mut S) -> Result<Vec<String>, Error> {
        let answer = ask(session, "SELECT COUNT(*) FROM hits").await?;
        let (found, lines) = (answer.text(), self.lines);
        let fault = || format!("hits has {} rows, and the file {lines} lines", found.trim());
        Ok((found.trim() != lines.to_string()).then(fault).into_iter().collect())
    }

    /// How many lines the rows' file has.
    fn count(&self) -> Result<u64, Error> {
        let (mut lines, mut count, mut ends) = (self.lines()?, 0, true);
        loop {
            let read = lines.fill_buf().map_err(|error| useless(&self.data, error.to_string()))?;
            let Some(last) = read.last() else { break };
            ends = *last == b'\n';
            count += read.iter().filter(|byte| **byte == b'\n').count() as u64;
            let bytes = read.len();
            lines.consume(bytes);
        }
        Ok(count + u64::from(!ends))
    }

    fn lines(&self) -> Result<BufReader<File>, Error> {
        let file =
            File::open(&self.data).map_err(|error| useless(&self.data, error.to_string()))?;
        Ok(BufReader::with_capacity(1 << 20, file))
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| useless(path, error.to_string()))
}

fn useless(path: &Path, what: String) -> Error {
    Error::File { path: path.display().to_string(), what }
}

/// Statements of a file. A semicolon within quotes ends none.
fn statements(text: &str) -> Vec<String> {
    let (mut statements, mut open, mut quote) = (Vec::new(), String::new(), None);
    let uncommented = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    for letter in uncommented.flat_map(|line| line.chars().chain(['\n'])) {
        match (quote, letter) {
            (None, ';') => statements.push(std::mem::take(&mut open)),
            (None, '\'' | '"' | '`') => {
                quote = Some(letter);
                open.push(letter);
            }
            (Some(begun), letter) => {
                if begun == letter {
                    quote = None;
                }
                open.push(letter);
            }
            (None, letter) => open.push(letter),
        }
    }
    statements.push(open);
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_quotes() {
        let text = "-- one; two\nCREATE TABLE hits (a TEXT DEFAULT ';');\nSET x = 1;\n\n";
        let found = statements(text);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("DEFAULT ';'") && found[1].trim() == "SET x = 1");
    }
}
