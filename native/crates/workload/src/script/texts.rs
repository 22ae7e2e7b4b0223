//! The texts of a script: where each begins and ends, and the variables in them.

use super::{Names, ScriptError, Syntax, is_name};

/// A text with variables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// The variable at a place.
    Variable(usize),
}

impl Template {
    pub(super) fn parse(text: &str, syntax: Syntax, names: &Names) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut written = String::new();
        for piece in marks(text, syntax) {
            match piece {
                Mark::Text(text) => written.push_str(text),
                // A brace that holds no name is JSON's, or whatever.
                Mark::Name(name, whole)
                    if syntax == Syntax::Lines && names.place(name).is_err() =>
                {
                    written.push_str(whole);
                }
                Mark::Name(name, _) => {
                    let place = names.place(name)?;
                    if !written.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut written)));
                    }
                    parts.push(Part::Variable(place));
                }
                Mark::Question => return Err("a ? stands outside of quotes".to_owned()),
            }
        }
        if !written.is_empty() {
            parts.push(Part::Text(written));
        }
        Ok(Self { parts })
    }

    /// The text with a `?` for each variable, and their places in that order.
    pub fn with_question_marks(&self) -> (String, Vec<usize>) {
        let (mut text, mut places) = (String::new(), Vec::new());
        for part in &self.parts {
            match part {
                Part::Text(written) => text.push_str(written),
                Part::Variable(place) => {
                    text.push('?');
                    places.push(*place);
                }
            }
        }
        (text, places)
    }

    /// The text with each variable 0: as good as any to see whether it can be sent.
    pub fn filled_with_zeros(&self) -> String {
        let places = self.parts.iter().map(|part| match part {
            Part::Variable(place) => place + 1,
            Part::Text(_) => 0,
        });
        self.filled(&vec![0; places.max().unwrap_or(0)])
    }

    /// The text with the values of its variables.
    pub fn filled(&self, values: &[i64]) -> String {
        let filled = self.parts.iter().map(|part| match part {
            Part::Text(written) => written.clone(),
            Part::Variable(place) => values[*place].to_string(),
        });
        filled.collect()
    }
}

/// What a text is made of.
enum Mark<'t> {
    Text(&'t str),
    /// A variable's name, and how it is written.
    Name(&'t str, &'t str),
    Question,
}

fn marks(text: &str, syntax: Syntax) -> Vec<Mark<'_>> {
    match syntax {
        Syntax::Sql => sql_marks(text),
        Syntax::Lines => braces(text),
    }
}

fn braces(text: &str) -> Vec<Mark<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(open) = rest.find('{') {
        let inside = &rest[open + 1..];
        let end = inside.find(['{', '}']).filter(|end| inside[*end..].starts_with('}'));
        let Some(end) = end.filter(|end| is_name(&inside[..*end])) else {
            found.push(Mark::Text(&rest[..=open]));
            rest = inside;
            continue;
        };
        found.push(Mark::Text(&rest[..open]));
        found.push(Mark::Name(&inside[..end], &rest[open..open + end + 2]));
        rest = &inside[end + 1..];
    }
    found.push(Mark::Text(rest));
    found
}

fn sql_marks(text: &str) -> Vec<Mark<'_>> {
    let mut found = Vec::new();
    let mut begun = 0;
    let mut places = Sql::new(text);
    while let Some((place, character)) = places.next_outside() {
        let rest = &text[place + 1..];
        if character == '?' {
            found.push(Mark::Question);
        }
        // Two colons are a cast, and a colon before anything else is the server's.
        if character != ':' || text[..place].ends_with(':') {
            continue;
        }
        let end = rest.find(|it: char| !(it.is_ascii_alphanumeric() || it == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        if is_name(name) {
            found.push(Mark::Text(&text[begun..place]));
            begun = place + 1 + name.len();
            found.push(Mark::Name(name, &text[place..begun]));
        }
    }
    found.push(Mark::Text(&text[begun..]));
    found
}

/// Walks through SQL, over what is quoted and over comments.
struct Sql<'t> {
    text: &'t str,
    place: usize,
    unclosed: Option<&'static str>,
}

impl<'t> Sql<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, place: 0, unclosed: None }
    }

    /// The next character that is neither quoted nor in a comment.
    fn next_outside(&mut self) -> Option<(usize, char)> {
        loop {
            let (begun, rest) = (self.place, &self.text[self.place..]);
            let character = rest.chars().next()?;
            let (end, around, what) = match character {
                quote @ ('\'' | '"' | '`') => (rest[1..].find(quote), 2, "a quote"),
                '/' if rest.starts_with("/*") => (rest[2..].find("*/"), 4, "a comment"),
                _ => {
                    self.place += character.len_utf8();
                    return Some((begun, character));
                }
            };
            self.place = end.map_or(self.text.len(), |end| begun + end + around);
            if end.is_none() {
                self.unclosed = Some(what);
            }
        }
    }
}

/// The steps of a text, each with the line that it begins on.
pub(super) fn pieces(text: &str, syntax: Syntax) -> Result<Vec<(usize, String)>, ScriptError> {
    match syntax {
        Syntax::Sql => statements(text),
        Syntax::Lines => Ok(lines(text)),
    }
}

fn lines(text: &str) -> Vec<(usize, String)> {
    let numbered = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let asked = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    asked.map(|(number, line)| (number, line.to_owned())).collect()
}

/// Commands are lines of their own; statements end with a semicolon.
fn statements(text: &str) -> Result<Vec<(usize, String)>, ScriptError> {
    let mut found = Vec::new();
    let (mut begun, mut statement) = (0, String::new());
    for (number, line) in text.lines().enumerate() {
        if statement.trim().is_empty() {
            (begun, statement) = (number + 1, String::new());
            if line.trim_start().starts_with('\\') {
                found.push((begun, line.trim().to_owned()));
                continue;
            }
        }
        statement.push_str(line);
        let (ended, left) = cut(&statement);
        found.extend(ended.into_iter().map(|text| (begun, text)));
        statement = left + "\n";
    }
    let rest = statement.trim().to_owned();
    if !rest.is_empty() {
        let mut walk = Sql::new(&rest);
        while walk.next_outside().is_some() {}
        if let Some(what) = walk.unclosed {
            return Err(ScriptError { line: begun, what: format!("{what} is not closed") });
        }
        found.push((begun, rest));
    }
    Ok(found)
}

/// The statements that have ended in a text, and what is left of it; a comment at its end goes.
fn cut(text: &str) -> (Vec<String>, String) {
    let (mut ended, mut begun) = (Vec::new(), 0);
    let mut walk = Sql::new(text);
    let mut before = None;
    while let Some((place, character)) = walk.next_outside() {
        if character == '-' && before == Some(place.wrapping_sub(1)) {
            return (ended, text[begun..place - 1].to_owned());
        }
        before = (character == '-').then_some(place);
        if character == ';' {
            let statement = text[begun..place].trim();
            if !statement.is_empty() {
                ended.push(statement.to_owned());
            }
            begun = place + 1;
        }
    }
    (ended, text[begun..].to_owned())
}
