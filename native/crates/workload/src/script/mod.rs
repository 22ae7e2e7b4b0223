//! Scripts of a user's own: `\set` lines, and texts that the server is asked.
//!
//! In SQL the syntax is pgbench's: `:name` in a statement is a variable, statements end with a
//! semicolon, `--` begins a comment. In other protocols every line is one request, and `{name}` is a
//! variable, because a colon means something else there. Values are integers. Nothing is guessed: a
//! variable without a value, an unknown function or command is an error with its line.
//!
//! Source: PostgreSQL's documentation, "pgbench", "Custom Scripts".

mod expression;
mod plan;
mod texts;

use std::collections::BTreeMap;

use assay_random::Random;

pub use expression::Expression;
pub use plan::{Given, Plan, Stream, Weighted};
pub use texts::{Part, Template};

/// How texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Statements that end with a semicolon, with `:name`.
    Sql,
    /// A request on each line, with `{name}`.
    Lines,
}

/// What is wrong with a script, or with the values that it came to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// Counts from 1.
    pub line: usize,
    /// What.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A variable, by its place, gets a value.
    Set(usize, Expression),
    /// The server is asked.
    Ask(Template),
}

/// A script that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Each with its line.
    steps: Vec<(usize, Step)>,
    variables: usize,
}

impl Script {
    /// Understands a text; `given` are names of variables that have a value from the start.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str, syntax: Syntax, given: &[&str]) -> Result<Self, ScriptError> {
        let mut names = Names::new(given);
        let mut steps = Vec::new();
        for (line, piece) in texts::pieces(text, syntax)? {
            let at = |what| ScriptError { line, what };
            let step = match piece.strip_prefix('\\') {
                Some(command) => set(command, &mut names).map_err(at)?,
                None => Step::Ask(Template::parse(&piece, syntax, &names).map_err(at)?),
            };
            steps.push((line, step));
        }
        if !steps.iter().any(|(_, step)| matches!(step, Step::Ask(_))) {
            return Err(ScriptError { line: 1, what: "it asks the server nothing".to_owned() });
        }
        Ok(Self { steps, variables: names.in_order.len() })
    }

    /// What the server is asked, in order.
    pub fn asks(&self) -> impl Iterator<Item = &Template> {
        self.steps.iter().filter_map(|(_, step)| match step {
            Step::Ask(template) => Some(template),
            Step::Set(..) => None,
        })
    }

    /// Goes through it once: variables get their values, and `visit` is called for each request with
    /// those of that moment. Values that are given stand first.
    ///
    /// # Errors
    /// A value that cannot be had, with its line.
    pub fn draw(
        &self,
        given: &[i64],
        random: &mut Random,
        mut visit: impl FnMut(&Template, &[i64]),
    ) -> Result<(), ScriptError> {
        let mut values = given.to_vec();
        values.resize(self.variables, 0);
        for (line, step) in &self.steps {
            match step {
                Step::Ask(template) => visit(template, &values),
                Step::Set(variable, expression) => {
                    let found = expression.value(&values, random);
                    values[*variable] = found.map_err(|what| ScriptError { line: *line, what })?;
                }
            }
        }
        Ok(())
    }
}

/// Variables by name.
pub(crate) struct Names {
    places: BTreeMap<String, usize>,
    in_order: Vec<String>,
}

impl Names {
    fn new(given: &[&str]) -> Self {
        let mut names = Self { places: BTreeMap::new(), in_order: Vec::new() };
        for name in given {
            names.add(name);
        }
        names
    }

    fn add(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.in_order.push(name.to_owned());
        self.places.insert(name.to_owned(), self.in_order.len() - 1);
        self.in_order.len() - 1
    }

    /// The place of one that has a value by now.
    pub(crate) fn place(&self, name: &str) -> Result<usize, String> {
        self.places.get(name).copied().ok_or_else(|| format!("no \\set gives {name} a value"))
    }
}

fn set(command: &str, names: &mut Names) -> Result<Step, String> {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    if word != "set" {
        return Err(format!("\\{word} is not known: there is \\set"));
    }
    let (name, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    if !is_name(name) {
        return Err(format!("{name:?} is no name of a variable"));
    }
    let expression = Expression::parse(rest, names)?;
    Ok(Step::Set(names.add(name), expression))
}

pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TPC_B: &str = "\\set aid random(1, 100000 * :scale)\n\
        \\set delta random(-5000, 5000)\n\
        BEGIN;\n\
        UPDATE accounts SET balance = balance + :delta -- the account\n  WHERE aid = :aid;\n\
        SELECT ':aid', balance::text FROM accounts WHERE aid = :aid;\nEND;\n";

    fn texts(script: &Script) -> Vec<(String, Vec<usize>)> {
        script.asks().map(Template::with_question_marks).collect()
    }

    fn drawn(script: &Script, given: &[i64], random: &mut Random) -> Vec<Vec<i64>> {
        let mut seen = Vec::new();
        script.draw(given, random, |_, values| seen.push(values.to_vec())).unwrap();
        seen
    }

    #[test]
    fn statements_of_pgbench_become_statements_with_parameters() {
        let script = Script::parse(TPC_B, Syntax::Sql, &["scale"]).unwrap();
        let expected = [
            ("BEGIN", vec![]),
            ("UPDATE accounts SET balance = balance + ? \n  WHERE aid = ?", vec![2, 1]),
            ("SELECT ':aid', balance::text FROM accounts WHERE aid = ?", vec![1]),
            ("END", vec![]),
        ];
        let expected = expected.map(|(text, places)| (text.to_owned(), places));
        assert_eq!(texts(&script), expected);
    }

    #[test]
    fn values_are_drawn_in_their_order_and_within_their_bounds() {
        let script = Script::parse(TPC_B, Syntax::Sql, &["scale"]).unwrap();
        let mut random = Random::new(1, 2);
        let mut seen = (i64::MAX, i64::MIN);
        for _ in 0..1000 {
            let values = drawn(&script, &[3], &mut random).remove(0);
            assert!((1..=300_000).contains(&values[1]) && (-5000..=5000).contains(&values[2]));
            seen = (seen.0.min(values[1]), seen.1.max(values[1]));
        }
        assert!(seen.0 < 3_000 && seen.1 > 297_000, "{seen:?}");
    }

    #[test]
    fn a_request_has_the_values_of_its_moment() {
        let text = "\\set x 1\nSELECT :x;\n\\set x :x + 1\nSELECT :x;";
        let script = Script::parse(text, Syntax::Sql, &[]).unwrap();
        assert_eq!(drawn(&script, &[], &mut Random::new(1, 2)), [[1], [2]]);
    }

    #[test]
    fn each_line_is_a_request_where_no_semicolon_ends_one() {
        let text =
            "# a comment\n\\set id random(7, 7)\n\nSET key:{id} {\"a\":{id}}\nGET key:{id}\n";
        let script = Script::parse(text, Syntax::Lines, &[]).unwrap();
        let mut filled = Vec::new();
        let visit = |template: &Template, values: &[i64]| filled.push(template.filled(values));
        script.draw(&[], &mut Random::new(1, 2), visit).unwrap();
        assert_eq!(filled, ["SET key:7 {\"a\":7}", "GET key:7"]);
    }

    #[test]
    fn a_mistake_is_said_with_its_line() {
        for (text, said) in [
            ("", "line 1: it asks the server nothing"),
            ("\n\nSELECT :id;", "line 3: no \\set gives id a value"),
            ("\\sleep 5\nSELECT 1;", "line 1: \\sleep is not known: there is \\set"),
            ("\\set 1x 5\nSELECT 1;", "line 1: \"1x\" is no name of a variable"),
            ("SELECT 1;\n\\set x\nSELECT 1;", "line 2: an expression is missing"),
            ("SELECT 'abc;\n", "line 1: a quote is not closed"),
            ("SELECT 1 /* x ;\n", "line 1: a comment is not closed"),
            ("SELECT a ? b;\n", "line 1: a ? stands outside of quotes"),
        ] {
            let error = Script::parse(text, Syntax::Sql, &[]).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn a_value_that_cannot_be_had_is_said_with_its_line() {
        for (expression, said) in [
            ("random(5, 1)", "line 1: random(5, 1) is empty"),
            ("1 / (2 - 2)", "line 1: a division by zero"),
            ("9223372036854775807 + 1", "line 1: a number is too large"),
        ] {
            let text = format!("\\set x {expression}\nSELECT 1;");
            let script = Script::parse(&text, Syntax::Sql, &[]).unwrap();
            let error = script.draw(&[], &mut Random::new(1, 2), |_, _| ()).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }
}
