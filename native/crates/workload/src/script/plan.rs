//! Several scripts by weight, and one connection's draws of them.

use std::collections::BTreeMap;

use assay_random::Random;

use super::{Script, ScriptError, Syntax, Template};

/// A script's name, how often it is drawn, and its text.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// What its operations are called.
    pub name: String,
    /// Against the sum of all.
    pub weight: u32,
    /// As a user wrote it.
    pub text: String,
}

/// Values by name that scripts have from the start, beside `client_id`.
pub type Given = BTreeMap<String, i64>;

/// Draws of other purposes are independent of these.
const PURPOSE: u64 = 0x7363_7269_7074_0000;
const CLIENT: &str = "client_id";

/// Scripts that were understood.
#[derive(Clone, Debug)]
pub struct Plan {
    scripts: Vec<(u32, Script)>,
    given: Vec<i64>,
    seed: u64,
}

impl Plan {
    /// Understands scripts.
    ///
    /// # Errors
    /// The first mistake, with the name of its script; scripts that none can be drawn of.
    pub fn new(
        scripts: &[Weighted],
        syntax: Syntax,
        given: &Given,
        seed: u64,
    ) -> Result<Self, String> {
        let names: Vec<&str> =
            given.keys().map(String::as_str).filter(|name| *name != CLIENT).collect();
        let with_client: Vec<&str> = [CLIENT].into_iter().chain(names.iter().copied()).collect();
        let parse = |of: &Weighted| {
            let script = Script::parse(&of.text, syntax, &with_client);
            let at = |error: ScriptError| format!("{}, {error}", of.name);
            script.map(|script| (of.weight, script)).map_err(at)
        };
        let parsed: Vec<_> = scripts.iter().map(parse).collect::<Result<_, _>>()?;
        if parsed.iter().all(|(weight, _)| *weight == 0) {
            return Err("no script has a weight above 0".to_owned());
        }
        let given = std::iter::once(0).chain(names.iter().map(|name| given[*name])).collect();
        Ok(Self { scripts: parsed, given, seed })
    }

    /// The scripts, in their order.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.scripts.iter().map(|(_, script)| script)
    }

    /// The draws of a connection.
    pub fn stream(&self, number: usize) -> Stream {
        let mut given = self.given.clone();
        given[0] = number as i64;
        Stream { given, random: Random::new(self.seed, PURPOSE + number as u64) }
    }
}

/// One connection's draws.
#[derive(Clone, Debug)]
pub struct Stream {
    given: Vec<i64>,
    random: Random,
}

impl Stream {
    /// Draws a script by weight.
    pub fn choose(&mut self, plan: &Plan) -> usize {
        let total: u64 = plan.scripts.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = self.random.below(total);
        let fits = |(weight, _): &(u32, Script)| match left.checked_sub(u64::from(*weight)) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        };
        plan.scripts.iter().position(fits).unwrap_or(0)
    }

    /// Goes through a script once.
    ///
    /// # Errors
    /// A value that cannot be had, with its line.
    pub fn draw(
        &mut self,
        plan: &Plan,
        script: usize,
        visit: impl FnMut(&Template, &[i64]),
    ) -> Result<(), ScriptError> {
        plan.scripts[script].1.draw(&self.given, &mut self.random, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(name: &str, weight: u32, text: &str) -> Weighted {
        Weighted { name: name.to_owned(), weight, text: text.to_owned() }
    }

    #[test]
    fn scripts_are_drawn_by_their_weights_and_know_their_connection() {
        let scripts = [
            weighted("a", 1, "SELECT :client_id + :scale;"),
            weighted("never", 0, "SELECT 2;"),
            weighted("b", 3, "SELECT 1;"),
        ];
        let given = Given::from([("scale".to_owned(), 5)]);
        let plan = Plan::new(&scripts, Syntax::Sql, &given, 1).unwrap();
        let (mut stream, mut counts) = (plan.stream(7), [0; 3]);
        for _ in 0..4000 {
            let mut seen = Vec::new();
            let script = stream.choose(&plan);
            stream.draw(&plan, script, |_, values| seen.extend_from_slice(values)).unwrap();
            counts[script] += 1;
            assert_eq!(seen, [7, 5]);
        }
        assert_eq!(counts[1], 0);
        assert!((850..1150).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn connections_draw_apart_and_the_same_seed_draws_the_same() {
        let scripts = [weighted("a", 1, "\\set x random(1, 1000000)\nSELECT :x;")];
        let plan = Plan::new(&scripts, Syntax::Sql, &Given::new(), 1).unwrap();
        let draw = |number| {
            let mut seen = Vec::new();
            plan.stream(number).draw(&plan, 0, |_, values| seen.push(values[1])).unwrap();
            seen
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    #[test]
    fn a_mistake_is_said_with_its_script() {
        let plan = |weight, text: &str| {
            Plan::new(&[weighted("mine.sql", weight, text)], Syntax::Sql, &Given::new(), 1)
        };
        let said = "mine.sql, line 1: no \\set gives x a value";
        assert_eq!(plan(1, "SELECT :x;").unwrap_err(), said);
        assert_eq!(plan(0, "SELECT 1;").unwrap_err(), "no script has a weight above 0");
    }
}
