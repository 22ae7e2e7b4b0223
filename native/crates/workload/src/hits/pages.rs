//! Pages of sites, search phrases, and their texts.
//!
//! Texts are lower case, and the places where they have other letters than `a` to `z` are the same
//! in all that are compared, so that servers of whatever collation order and group them alike.

use std::fmt::Write;

use super::counters::FIRST_PAGE_PERCENT;
use super::draws::{Draws, Purpose};
use super::shares::PHRASES;

/// The word that queries look for in pages and titles; one page in 64 has it.
pub const WORD: &str = "google";

const WORD_EVERY: u64 = 64;
/// Words of six letters.
const WORDS: [&str; 16] = [
    "market", "photos", "people", "travel", "sports", "health", "movies", "garden", "recipe",
    "school", "events", "office", "design", "mobile", "garage", "poetry",
];
/// Pages beside the first: ranks 8 to 1,048,575, falling.
const PAGE_RANKS: (u64, u64) = (3, 19);

/// A page of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// The site's counter.
    pub site: i32,
    /// Its number; 0 is the first page.
    pub number: u64,
}

impl Page {
    /// The first page of a site.
    pub fn first(site: i32) -> Self {
        Self { site, number: 0 }
    }

    /// A page of a site as visitors ask for them.
    pub(super) fn draw(site: i32, draws: &mut Draws) -> Self {
        if draws.below(100) < FIRST_PAGE_PERCENT {
            return Self::first(site);
        }
        let (first, last) = PAGE_RANKS;
        Self { site, number: draws.rank(first, last) }
    }

    /// A number for the page that no other is likely to have, the same for every seed.
    pub fn hash(&self) -> i64 {
        (Draws::new(0, Purpose::Hash, self.key()).bits() >> 1) as i64
    }

    /// Whether its address has [`WORD`].
    pub fn has_word(&self) -> bool {
        self.number > 0 && self.words()[0] == WORD
    }

    /// Its host's name.
    pub fn write_host(&self, into: &mut String) {
        // Writing to a text cannot fail.
        let _ = write!(into, "site{:04}.example", self.site);
    }

    /// Its address.
    pub fn write_url(&self, into: &mut String) {
        into.push_str("http://");
        self.write_host(into);
        into.push('/');
        if self.number > 0 {
            let [section, topic] = self.words();
            let _ = write!(into, "{section}/{topic}-{:07}", self.number);
        }
    }

    /// Its title.
    pub fn write_title(&self, into: &mut String) {
        let [section, topic] = self.words();
        let (first, second) = match self.number {
            0 => ("latest", "topics"),
            // Drawn apart from the words of the address.
            _ if Draws::new(0, Purpose::Section, self.key()).below(WORD_EVERY) == 0 => {
                (WORD, section)
            }
            _ => (topic, section),
        };
        let _ = write!(into, "{first} {second} of site {:04}", self.site);
    }

    fn key(&self) -> u64 {
        (self.site as u64) << 32 | self.number
    }

    fn words(&self) -> [&'static str; 2] {
        let mut draws = Draws::new(1, Purpose::Section, self.key());
        let section = draws.below(WORD_EVERY);
        let section = if section == 0 { WORD } else { WORDS[section as usize % WORDS.len()] };
        [section, WORDS[draws.below(WORDS.len() as u64) as usize]]
    }
}

/// Rows of 100 million that have a search phrase.
pub(super) const PHRASE_ROWS: u64 = 13_000_000;
/// Percent of phrases that are more frequent than others; ranks from 64 on, falling.
const FREQUENT_PERCENT: u64 = 15;
const FREQUENT_RANKS: (u64, u64) = (6, 8);
/// Phrases to draw the others from, in thousandths of the rows.
const PHRASES_PER_MILLE: u64 = 80;

/// A phrase's number.
pub(super) fn draw_phrase(rows: u64, draws: &mut Draws) -> u64 {
    if let Some(rank) = draws.share(PHRASES, PHRASE_ROWS) {
        return 1 + rank as u64;
    }
    if draws.below(100) < FREQUENT_PERCENT {
        let (first, last) = FREQUENT_RANKS;
        return draws.rank(first, last);
    }
    (2 << FREQUENT_RANKS.1) + draws.below(rows * PHRASES_PER_MILLE / 1000)
}

/// The words of a phrase: no two have the same.
pub fn write_phrase(number: u64, into: &mut String) {
    let mut left = Draws::new(0, Purpose::Phrase, number).bits() << 60 | number;
    // The first word is drawn, the others are the digits of the number.
    into.push_str(WORDS[(left >> 60) as usize]);
    left &= (1 << 60) - 1;
    while left > 0 {
        into.push(' ');
        into.push_str(WORDS[left as usize % WORDS.len()]);
        left /= WORDS.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn text(write: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        write(&mut text);
        text
    }

    #[test]
    fn phrases_and_pages_with_different_numbers_differ() {
        let numbers = || (0..5_000).chain(1_000_000..1_000_100);
        let phrases: HashSet<_> = numbers().map(|it| text(|into| write_phrase(it, into))).collect();
        let pages: HashSet<_> =
            numbers().map(|number| text(|into| Page { site: 7, number }.write_url(into))).collect();
        assert_eq!((phrases.len(), pages.len()), (5_100, 5_100));
    }

    #[test]
    fn a_page_knows_whether_its_address_has_the_word() {
        let pages = (0..20_000).map(|number| Page { site: 62, number });
        let (with, without): (Vec<_>, Vec<_>) = pages.partition(Page::has_word);
        assert!((250..400).contains(&with.len()), "{} pages", with.len());
        let url = |page: &Page| text(|into| page.write_url(into));
        assert!(with.iter().all(|page| url(page).contains(WORD)));
        assert!(!without.iter().any(|page| url(page).contains(WORD)));
    }

    #[test]
    fn some_titles_have_the_word_where_the_address_has_not() {
        let pages = (1..20_000).map(|number| Page { site: 62, number });
        let titled = |page: &Page| text(|into| page.write_title(into)).contains(WORD);
        let found = pages.filter(|page| !page.has_word() && titled(page)).count();
        assert!((200..500).contains(&found), "{found} pages");
    }
}
