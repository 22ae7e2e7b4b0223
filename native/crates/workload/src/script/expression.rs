//! The expressions of `\set`: integers, variables, arithmetic, and draws.

use std::iter::Peekable;
use std::str::Chars;

use assay_random::Random;

use super::{Names, is_name};

/// An integer that is worked out anew each time.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Itself.
    Number(i64),
    /// The variable at a place.
    Variable(usize),
    /// One of two numbers' results.
    Operation(Operator, Box<Expression>, Box<Expression>),
    /// The largest or the smallest of several, or the absolute value of one.
    Chosen(Choice, Vec<Expression>),
    /// A number from the first to the second, both included.
    Drawn(Draw, Box<Expression>, Box<Expression>),
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`, towards zero.
    Divide,
    /// `%`, with the sign of the first.
    Remainder,
}

/// What is taken of several numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `abs`, of one.
    Absolute,
    /// `greatest`.
    Greatest,
    /// `least`.
    Least,
}

/// How a number is drawn, with pgbench's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// `random`: all alike.
    Uniform,
    /// `random_exponential`: the first most often.
    Exponential(f64),
    /// `random_gaussian`: the middle most often.
    Gaussian(f64),
    /// `random_zipfian`: the first most often, the k-th in proportion to 1/k^s.
    Zipfian(f64),
}

impl Expression {
    /// Understands a text.
    pub(crate) fn parse(text: &str, names: &Names) -> Result<Self, String> {
        let mut parser = Parser { left: text.chars().peekable(), names };
        let found = parser.sum()?;
        match parser.next() {
            None => Ok(found),
            Some(other) => Err(format!("{other:?} is not expected in {:?}", text.trim())),
        }
    }

    /// Its value now.
    ///
    /// # Errors
    /// A number that is none, in words.
    pub fn value(&self, values: &[i64], random: &mut Random) -> Result<i64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Variable(place) => Ok(values[*place]),
            Self::Operation(operator, first, second) => {
                let (first, second) = (first.value(values, random)?, second.value(values, random)?);
                operator.of(first, second)
            }
            Self::Chosen(choice, of) => {
                let found: Vec<i64> =
                    of.iter().map(|it| it.value(values, random)).collect::<Result<_, _>>()?;
                let chosen = match choice {
                    Choice::Absolute => found[0].checked_abs(),
                    Choice::Greatest => found.into_iter().max(),
                    Choice::Least => found.into_iter().min(),
                };
                chosen.ok_or_else(too_large)
            }
            Self::Drawn(draw, low, high) => {
                let (low, high) = (low.value(values, random)?, high.value(values, random)?);
                draw.within(low, high, random)
            }
        }
    }
}

fn too_large() -> String {
    "a number is too large".to_owned()
}

impl Operator {
    fn of(self, first: i64, second: i64) -> Result<i64, String> {
        let divides = matches!(self, Self::Divide | Self::Remainder);
        if divides && second == 0 {
            return Err("a division by zero".to_owned());
        }
        let found = match self {
            Self::Add => first.checked_add(second),
            Self::Subtract => first.checked_sub(second),
            Self::Multiply => first.checked_mul(second),
            Self::Divide => first.checked_div(second),
            Self::Remainder => first.checked_rem(second),
        };
        found.ok_or_else(too_large)
    }
}

impl Draw {
    fn within(self, low: i64, high: i64, random: &mut Random) -> Result<i64, String> {
        let count = high.checked_sub(low).and_then(|width| width.checked_add(1));
        let count = count.ok_or_else(too_large)?;
        let Ok(bound) = u64::try_from(count) else {
            return Err(format!("random({low}, {high}) is empty"));
        };
        if bound == 0 {
            return Err(format!("random({low}, {high}) is empty"));
        }
        let place = match self {
            Self::Uniform => random.below(bound),
            // pgbench.c, getExponentialRand: the inverse of the cut distribution.
            Self::Exponential(parameter) => {
                let cut = (-parameter).exp();
                let drawn = -(cut + (1.0 - cut) * (1.0 - random.unit())).ln() / parameter;
                (drawn * bound as f64) as u64
            }
            Self::Gaussian(parameter) => (gaussian(parameter, random) * bound as f64) as u64,
            Self::Zipfian(s) => zipfian(bound, s, random) - 1,
        };
        Ok(low + place.min(bound - 1) as i64)
    }
}

/// From 0 to 1, the middle most often; `parameter` deviations fit on either side.
/// pgbench.c, getGaussianRand: Box and Muller, and again where it is beyond the sides.
fn gaussian(parameter: f64, random: &mut Random) -> f64 {
    loop {
        let (first, second) = (1.0 - random.unit(), random.unit());
        let deviation = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).sin();
        if (-parameter..parameter).contains(&deviation) {
            return (deviation + parameter) / (2.0 * parameter);
        }
    }
}

/// From 1 to `most`. Devroye, Non-Uniform Random Variate Generation (1986), page 551, as pgbench.
fn zipfian(most: u64, s: f64, random: &mut Random) -> u64 {
    let b = 2.0_f64.powf(s - 1.0);
    loop {
        let (u, v) = (1.0 - random.unit(), random.unit());
        let x = u.powf(-1.0 / (s - 1.0)).floor();
        let t = (1.0 + 1.0 / x).powf(s - 1.0);
        if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= most as f64 {
            return x as u64;
        }
    }
}

/// A sum is products, a product is factors.
struct Parser<'t> {
    left: Peekable<Chars<'t>>,
    names: &'t Names,
}

impl Parser<'_> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.left.next_if(|it| it.is_whitespace()).is_some() {}
        self.left.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek();
        self.left.next()
    }

    fn word(&mut self, fits: fn(&char) -> bool) -> String {
        let mut word = String::new();
        while let Some(character) = self.left.next_if(fits) {
            word.push(character);
        }
        word
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.next() {
            Some(found) if found == wanted => Ok(()),
            Some(found) => Err(format!("{found:?} stands where {wanted:?} should")),
            None => Err(format!("{wanted:?} is missing")),
        }
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut found = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.next();
            let operator = if sign == '+' { Operator::Add } else { Operator::Subtract };
            let second = self.product()?;
            found = Expression::Operation(operator, Box::new(found), Box::new(second));
        }
        Ok(found)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut found = self.factor()?;
        while let Some(sign @ ('*' | '/' | '%')) = self.peek() {
            self.next();
            let operator = match sign {
                '*' => Operator::Multiply,
                '/' => Operator::Divide,
                _ => Operator::Remainder,
            };
            let second = self.factor()?;
            found = Expression::Operation(operator, Box::new(found), Box::new(second));
        }
        Ok(found)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        match self.peek() {
            None => Err("an expression is missing".to_owned()),
            Some('-') => {
                self.next();
                let zero = Box::new(Expression::Number(0));
                let of = Box::new(self.factor()?);
                Ok(Expression::Operation(Operator::Subtract, zero, of))
            }
            Some('(') => {
                self.next();
                let found = self.sum()?;
                self.expect(')')?;
                Ok(found)
            }
            Some(':') => {
                self.next();
                let name = self.word(|it| it.is_ascii_alphanumeric() || *it == '_');
                Ok(Expression::Variable(self.names.place(&name)?))
            }
            Some(digit) if digit.is_ascii_digit() => {
                let digits = self.word(char::is_ascii_digit);
                digits.parse().map(Expression::Number).map_err(|_| too_large())
            }
            Some(other) => {
                let name = self.word(|it| it.is_ascii_alphanumeric() || *it == '_');
                if is_name(&name) {
                    return self.function(&name);
                }
                Err(format!("{other:?} begins no number, variable or function"))
            }
        }
    }

    fn function(&mut self, name: &str) -> Result<Expression, String> {
        self.expect('(')?;
        let draws = ["random", "random_exponential", "random_gaussian", "random_zipfian"];
        if draws.contains(&name) {
            return self.draw(name);
        }
        let mut given = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.next();
            given.push(self.sum()?);
        }
        self.expect(')')?;
        match (name, given.len()) {
            ("abs", 1) => Ok(Expression::Chosen(Choice::Absolute, given)),
            ("greatest", _) => Ok(Expression::Chosen(Choice::Greatest, given)),
            ("least", _) => Ok(Expression::Chosen(Choice::Least, given)),
            ("mod", 2) => {
                let (second, first) = (given.remove(1), given.remove(0));
                let operator = Operator::Remainder;
                Ok(Expression::Operation(operator, Box::new(first), Box::new(second)))
            }
            (_, count) => Err(format!(
                "{name} of {count} is not known: there are {}, abs, greatest, least and mod",
                draws.join(", ")
            )),
        }
    }

    /// Two bounds, and the parameter of a draw that is not uniform.
    fn draw(&mut self, name: &str) -> Result<Expression, String> {
        let low = self.sum()?;
        self.expect(',')?;
        let high = self.sum()?;
        let draw = if name == "random" {
            Draw::Uniform
        } else {
            self.expect(',')?;
            self.peek();
            let digits = self.word(|it| it.is_ascii_digit() || *it == '.');
            let given: f64 =
                digits.parse().map_err(|_| format!("{name} needs a number as its last"))?;
            let (draw, low, high) = match name {
                "random_exponential" => (Draw::Exponential(given), f64::MIN_POSITIVE, 1000.0),
                "random_gaussian" => (Draw::Gaussian(given), 2.0, 1000.0),
                _ => (Draw::Zipfian(given), 1.001, 1000.0),
            };
            if !(low..=high).contains(&given) {
                return Err(format!("{name}: {given} is not from {low} to {high}"));
            }
            draw
        };
        self.expect(')')?;
        Ok(Expression::Drawn(draw, Box::new(low), Box::new(high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        Expression::parse(text, &Names::new(&["n"]))?.value(&[10], &mut Random::new(1, 2))
    }

    #[test]
    fn arithmetic_is_that_of_integers() {
        for (text, expected) in [
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("-7 / 2", -3),
            ("-7 % 4", -3),
            ("10 - 3 - 2", 5),
            (":n * -2", -20),
            ("abs(-:n)", 10),
            ("greatest(1, :n, 3)", 10),
            ("least(4, :n)", 4),
            ("mod(17, 5)", 2),
            ("random(6, 6)", 6),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_says_where_it_ends() {
        for (text, said) in [
            ("2 +", "an expression is missing"),
            ("(2", "')' is missing"),
            ("2 3", "'3' is not expected in \"2 3\""),
            (":m", "no \\set gives m a value"),
            ("random(1)", "')' stands where ',' should"),
            ("random_zipfian(1, 5, 1)", "random_zipfian: 1 is not from 1.001 to 1000"),
            ("99999999999999999999", "a number is too large"),
            ("'x'", "'\\'' begins no number, variable or function"),
        ] {
            assert_eq!(value(text), Err(said.to_owned()), "{text}");
        }
        assert!(value("hash(1)").unwrap_err().starts_with("hash of 1 is not known"));
    }

    /// How many of 10,000 draws from 1 to 10 each number is.
    fn counts(draw: &str) -> [u32; 10] {
        let expression = Expression::parse(draw, &Names::new(&[])).unwrap();
        let (mut random, mut counts) = (Random::new(3, 4), [0; 10]);
        for _ in 0..10_000 {
            let drawn = expression.value(&[], &mut random).unwrap();
            counts[usize::try_from(drawn - 1).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn draws_have_the_shapes_of_pgbench() {
        let uniform = counts("random(1, 10)");
        assert!(uniform.iter().all(|count| (850..1150).contains(count)), "{uniform:?}");
        // The formula of its documentation: f(x) = exp(-p (x - 1) / 10) (1 - exp(-p / 10)) / (1 -
        // exp(-p)), here with p = 2: 21.0 % of 1 and 3.5 % of 10.
        let exponential = counts("random_exponential(1, 10, 2)");
        assert!((1950..2250).contains(&exponential[0]), "{exponential:?}");
        assert!((270..430).contains(&exponential[9]), "{exponential:?}");
        // With 2.5 deviations on either side 38.8 % are in the middle two tenths.
        let gaussian = counts("random_gaussian(1, 10, 2.5)");
        assert!((3600..4150).contains(&(gaussian[4] + gaussian[5])), "{gaussian:?}");
        // 1/k^2 over ten: 64.5 % and a quarter of that.
        let zipfian = counts("random_zipfian(1, 10, 2)");
        assert!((6250..6650).contains(&zipfian[0]), "{zipfian:?}");
        assert!((1450..1780).contains(&zipfian[1]), "{zipfian:?}");
    }
}
