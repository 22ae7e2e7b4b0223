//! The slow obvious answers: one pass over all rows, every distinct value in a set.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use super::plan::Plan;
use super::row::{Row, write_date};
use super::visitors::PLANTED_USER;

/// What can be answered without a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How many rows there are.
    Rows,
    /// How many have an advertising engine.
    Advertised,
    /// Sum of the advertising engines; sum, least and greatest of the screens' widths.
    Sums,
    /// How many users there are.
    Users,
    /// How many search phrases there are, the empty one included.
    Phrases,
    /// The first and the last date.
    Dates,
    /// Rows by advertising engine other than 0, the most first, then by number.
    AdvEngines,
    /// The ten regions with the most users, the most first, then by number.
    Regions,
    /// The ten users with the most rows, the most first, then by number.
    Frequent,
    /// Rows of the planted user.
    Planted,
    /// How many rows have a page whose address has the word.
    Word,
    /// SUM(width + k) for k from 0 to below this.
    SumsOfWidth(usize),
}

const TOP: usize = 10;

/// What was counted of all rows.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    rows: u64,
    adv_engines: BTreeMap<i16, u64>,
    width_sum: u64,
    widths: Option<(i16, i16)>,
    users: HashMap<i64, u64>,
    /// Of every region its users.
    regions: HashSet<(i32, i64)>,
    phrases: HashSet<Option<u64>>,
    days: Option<(u64, u64)>,
    with_word: u64,
}

impl Twin {
    /// Counts all rows of a plan, some millions a second.
    pub fn of(plan: &Plan) -> Self {
        let mut twin = Self::default();
        (0..plan.parameters().rows).for_each(|row| twin.add(&plan.row(row)));
        twin
    }

    fn add(&mut self, row: &Row) {
        let width = row.user.width;
        self.rows += 1;
        self.width_sum += width as u64;
        *self.adv_engines.entry(row.adv_engine).or_default() += 1;
        self.widths = Some(widened(self.widths, width));
        self.days = Some(widened(self.days, row.day));
        *self.users.entry(row.user.id).or_default() += 1;
        self.regions.insert((row.user.region, row.user.id));
        self.phrases.insert(row.referer.phrase());
        self.with_word += u64::from(row.page.has_word());
    }

    /// The mean width of screens, in pixels.
    pub fn mean_width(&self) -> f64 {
        self.width_sum as f64 / self.rows.max(1) as f64
    }

    /// An answer as servers write it: tabs between columns, a line feed after every row.
    pub fn answer(&self, question: Question) -> String {
        match question {
            Question::Rows => line(&[self.rows]),
            Question::Advertised => line(&[self.advertised().map(|(_, rows)| rows).sum()]),
            Question::Sums => self.sums(),
            Question::Users => line(&[self.users.len() as u64]),
            Question::Phrases => line(&[self.phrases.len() as u64]),
            Question::Dates => self.dates(),
            Question::AdvEngines => top(self.advertised(), usize::MAX),
            Question::Regions => {
                let mut users: HashMap<i32, u64> = HashMap::new();
                for (region, _) in &self.regions {
                    *users.entry(*region).or_default() += 1;
                }
                top(users.into_iter().map(|(region, users)| (region.into(), users)), TOP)
            }
            Question::Frequent => top(self.users.iter().map(|(id, rows)| (*id, *rows)), TOP),
            Question::Planted => line(&[self.users.get(&PLANTED_USER).copied().unwrap_or(0)]),
            Question::Word => line(&[self.with_word]),
            Question::SumsOfWidth(sums) => {
                let sum = |add: usize| self.width_sum + add as u64 * self.rows;
                line(&(0..sums).map(sum).collect::<Vec<_>>())
            }
        }
    }

    fn advertised(&self) -> impl Iterator<Item = (i64, u64)> {
        let engines = self.adv_engines.iter().filter(|(engine, _)| **engine != 0);
        engines.map(|(engine, rows)| ((*engine).into(), *rows))
    }

    fn sums(&self) -> String {
        let engines = self.advertised().map(|(engine, rows)| engine as u64 * rows).sum();
        let (least, most) = self.widths.unwrap_or_default();
        line(&[engines, self.width_sum, least as u64, most as u64])
    }

    fn dates(&self) -> String {
        let (first, last) = self.days.unwrap_or_default();
        let mut text = String::new();
        write_date(first, &mut text);
        text.push('\t');
        write_date(last, &mut text);
        text + "\n"
    }
}

fn widened<T: Ord + Copy>(bounds: Option<(T, T)>, value: T) -> (T, T) {
    bounds.map_or((value, value), |(least, most)| (least.min(value), most.max(value)))
}

fn line(values: &[u64]) -> String {
    values.iter().map(u64::to_string).collect::<Vec<_>>().join("\t") + "\n"
}

/// The first of some with their counts, the most first, then by number.
fn top(counted: impl Iterator<Item = (i64, u64)>, most: usize) -> String {
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable_by_key(|(number, count)| (std::cmp::Reverse(*count), *number));
    let mut text = String::new();
    for (number, count) in counted.into_iter().take(most) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{number}\t{count}");
    }
    text
}
