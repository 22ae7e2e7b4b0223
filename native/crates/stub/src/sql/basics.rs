//! The statements that sessions send whatever their workload is, before those of a workload.

use assay_wire::answers::{Answers, Column, ColumnType, Command, STAND_IN, Shape};
use assay_wire::sql::Value;

/// A statement, written as clients write it but for case and a semicolon at its end.
struct Basic {
    text: &'static str,
    command: Command,
    /// Its row, of one column.
    row: Option<Cell>,
}

#[derive(Clone, Copy)]
enum Cell {
    One,
    Version,
    Comment,
}

const fn told(text: &'static str, command: Command) -> Basic {
    Basic { text, command, row: None }
}

const fn asked(text: &'static str, cell: Cell) -> Basic {
    Basic { text, command: Command::Select, row: Some(cell) }
}

const BASICS: [Basic; 9] = [
    told("BEGIN", Command::Begin),
    told("START TRANSACTION", Command::Begin),
    told("START TRANSACTION READ ONLY", Command::Begin),
    told("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", Command::Begin),
    told("COMMIT", Command::Commit),
    told("ROLLBACK", Command::Rollback),
    asked("SELECT 1", Cell::One),
    asked("SELECT VERSION()", Cell::Version),
    asked("SELECT @@version_comment LIMIT 1", Cell::Comment),
];

/// Settings are taken and mean nothing.
const SET: usize = BASICS.len();
const OWN: usize = SET + 1;

/// A workload's answers, and those that are always the same.
pub struct WithBasics<A> {
    answers: A,
    version: String,
    shapes: Vec<Shape>,
}

impl<A> WithBasics<A> {
    pub fn new(answers: A, version: &str) -> Self {
        let shape = |basic: &Basic| {
            let kind = match basic.row {
                Some(Cell::One) => Some(ColumnType::Int),
                Some(Cell::Version | Cell::Comment) => Some(ColumnType::Text),
                None => None,
            };
            let column = |kind| Column { name: "answer", kind };
            Shape {
                command: basic.command,
                parameters: 0,
                columns: kind.map(column).into_iter().collect(),
            }
        };
        let mut shapes: Vec<Shape> = BASICS.iter().map(shape).collect();
        shapes.push(Shape { command: Command::Set, parameters: 0, columns: Vec::new() });
        Self { answers, version: version.to_owned(), shapes }
    }
}

impl<A: Answers> Answers for WithBasics<A> {
    fn find(&self, text: &str) -> Option<usize> {
        if let Some(place) = self.answers.find(text) {
            return Some(OWN + place);
        }
        let text = text.trim().trim_end_matches(';').trim_end();
        if text.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("SET ")) {
            return Some(SET);
        }
        BASICS.iter().position(|basic| basic.text.eq_ignore_ascii_case(text))
    }

    fn shape(&self, statement: usize) -> &Shape {
        self.shapes.get(statement).unwrap_or_else(|| self.answers.shape(statement - OWN))
    }

    fn answer(
        &self,
        statement: usize,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&[Value<'_>]),
    ) -> u64 {
        if statement >= OWN {
            return self.answers.answer(statement - OWN, values, row);
        }
        match BASICS.get(statement).and_then(|basic| basic.row) {
            Some(Cell::One) => row(&[Value::Int(1)]),
            Some(Cell::Version) => row(&[Value::Text(self.version.as_bytes())]),
            Some(Cell::Comment) => row(&[Value::Text(STAND_IN.as_bytes())]),
            None => {}
        }
        0
    }
}
