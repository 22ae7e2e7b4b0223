//! A row and its columns.

use std::fmt::Write;

use super::draws::{Draws, Purpose};
use super::pages::{self, Page};
use super::plan::Plan;
use super::shares::{ADV_ENGINES, ALL};
use super::visitors::User;

/// One page view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its own number; in one of a thousand rows that of the row before.
    pub watch: i64,
    /// Days since the second of July 2013.
    pub day: u64,
    /// Seconds of the day.
    pub second: u64,
    /// Who.
    pub user: User,
    /// What.
    pub page: Page,
    /// Inner size of the window, in pixels.
    pub window: [i16; 2],
    /// The advertising engine, or 0.
    pub adv_engine: i16,
    /// From where.
    pub referer: Referer,
    /// -1 the same site, 0 nowhere, 1 another site, 2 a search, 3 an advertisement, 6 a network.
    pub traffic_source: i16,
    /// Whether the page was only loaded again.
    pub is_refresh: bool,
    /// Whether a link that leads elsewhere was followed.
    pub is_link: bool,
    /// Whether a file was fetched.
    pub is_download: bool,
    /// Whether reports count it.
    pub is_counted: bool,
    /// Until the request was sent, and until it was answered, in milliseconds.
    pub times_ms: [u64; 2],
}

/// Where a visitor came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referer {
    /// Not said.
    None,
    /// A page.
    Page(Page),
    /// A search engine, and the phrase's number.
    Search {
        /// The engine's number.
        engine: i16,
        /// The phrase's number.
        phrase: u64,
    },
}

/// A column's value. No text has a tab, a line feed, a quote or a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'c> {
    /// A number.
    Int(i64),
    /// A text, a date (2013-07-02) or a time (2013-07-02 13:05:59).
    Text(&'c str),
}

/// Percent of visits by where they come from: a search, nowhere, another site; the rest a network.
const SEARCHED: u64 = 52;
const DIRECT: u64 = 24;
const LINKED: u64 = 19;
/// Search engines by number and percent of searches.
const ENGINES: [(i16, u64); 4] = [(2, 60), (3, 25), (13, 9), (45, 4)];
const OTHER_ENGINE: i16 = 62;
/// The search engine whose host has the word that queries look for.
const NAMED_ENGINE: i16 = 3;
const SECONDS: u64 = 86_400;

impl Plan {
    /// A row, from 0 to below the plan's rows.
    pub fn row(&self, row: u64) -> Row {
        let seed = self.parameters().seed;
        let place = self.place(row);
        let (page, mut draws) = self.page(row, place.counter);
        let is_first = row == place.session;
        let adv_engine = draws.share(ADV_ENGINES.map(|(_, share)| share), ALL);
        let adv_engine = adv_engine.map_or(0, |place| ADV_ENGINES[place].0);
        let (referer, source) = if is_first {
            self.landing(&mut draws)
        } else {
            (Referer::Page(self.page(row - 1, place.counter).0), -1)
        };
        let user = self.user(place.session);
        let mut session = Draws::new(seed, Purpose::Session, place.session);
        let begin = (session.below(SECONDS) + session.below(SECONDS)) / 2;
        let second = begin + (row - place.session) * 30 + draws.below(30);
        let bars = [session.below(4) as i16 * 8, 60 + session.below(8) as i16 * 20];
        Row {
            watch: self.watch(row, is_first),
            day: place.day,
            second: second.min(SECONDS - 1),
            user,
            page,
            window: [(user.width - bars[0]).max(0), (user.height - bars[1]).max(0)],
            adv_engine,
            referer,
            traffic_source: if adv_engine == 0 { source } else { 3 },
            is_refresh: !is_first && draws.below(100) < 12,
            is_link: draws.below(100) < 10,
            is_download: draws.below(100) < 1,
            is_counted: draws.below(100) < 97,
            times_ms: [draws.rank(3, 9), draws.rank(4, 12)],
        }
    }

    /// The page of a row, and what is left to draw for it.
    fn page(&self, row: u64, site: i32) -> (Page, Draws) {
        let mut draws = Draws::new(self.parameters().seed, Purpose::Hit, row);
        (Page::draw(site, &mut draws), draws)
    }

    fn landing(&self, draws: &mut Draws) -> (Referer, i16) {
        match draws.below(100) {
            drawn if drawn < SEARCHED => {
                let engine = draws.share(ENGINES.map(|(_, share)| share), 100);
                let engine = engine.map_or(OTHER_ENGINE, |place| ENGINES[place].0);
                let phrase = pages::draw_phrase(self.parameters().rows, draws);
                (Referer::Search { engine, phrase }, 2)
            }
            drawn if drawn < SEARCHED + DIRECT => (Referer::None, 0),
            drawn => {
                let site = super::counters::of_rank(draws.rank(0, 9) - 1);
                let source = if drawn < SEARCHED + DIRECT + LINKED { 1 } else { 6 };
                (Referer::Page(Page::first(site)), source)
            }
        }
    }

    fn watch(&self, row: u64, is_first: bool) -> i64 {
        let seed = self.parameters().seed;
        // Only odd rows repeat, so that no number is there three times.
        let repeats =
            row % 2 == 1 && !is_first && Draws::new(seed, Purpose::Watch, !row).below(300) == 0;
        let row = if repeats { row - 1 } else { row };
        (Draws::new(seed, Purpose::Watch, row).bits() >> 1) as i64
    }
}

impl Referer {
    /// The phrase's number, if there is one.
    pub fn phrase(&self) -> Option<u64> {
        match self {
            Self::Search { phrase, .. } => Some(*phrase),
            _ => None,
        }
    }

    fn engine(&self) -> i16 {
        match self {
            Self::Search { engine, .. } => *engine,
            _ => 0,
        }
    }

    fn hash(&self) -> i64 {
        match self {
            Self::None => 0,
            Self::Page(page) => page.hash(),
            Self::Search { engine, phrase } => {
                let number = (*engine as u64) << 48 | phrase;
                (Draws::new(1, Purpose::Hash, number).bits() >> 1) as i64
            }
        }
    }

    fn write_host(&self, into: &mut String) {
        match self {
            Self::None => {}
            Self::Page(page) => page.write_host(into),
            Self::Search { engine: NAMED_ENGINE, .. } => into.push_str("www.google.example"),
            Self::Search { engine, .. } => {
                // Writing to a text cannot fail.
                let _ = write!(into, "www.find{engine:02}.example");
            }
        }
    }

    fn write(&self, into: &mut String) {
        match self {
            Self::None => {}
            Self::Page(page) => page.write_url(into),
            Self::Search { phrase, .. } => {
                into.push_str("http://");
                self.write_host(into);
                let _ = write!(into, "/search/{phrase:09}");
            }
        }
    }
}

impl Row {
    /// How many columns a row has.
    pub const COLUMNS: usize = 32;

    /// Gives every column to `visit`, in order; `scratch` is where texts are written.
    pub fn each(&self, scratch: &mut String, mut visit: impl FnMut(Cell<'_>)) {
        let Self { user, page, referer, .. } = self;
        let mut text = |write: &dyn Fn(&mut String), visit: &mut dyn FnMut(Cell<'_>)| {
            scratch.clear();
            write(scratch);
            visit(Cell::Text(scratch));
        };
        let int = |value: i64, visit: &mut dyn FnMut(Cell<'_>)| visit(Cell::Int(value));
        int(self.watch, &mut visit);
        int(page.site.into(), &mut visit);
        text(&|into| self.write_date(into), &mut visit);
        text(&|into| self.write_time(into), &mut visit);
        int(self.minute() as i64, &mut visit);
        int(user.id, &mut visit);
        int(user.region.into(), &mut visit);
        int(user.address.into(), &mut visit);
        let [width, height] = self.window;
        for value in [user.agent, user.os, user.width, user.height, width, height, user.maker] {
            int(value.into(), &mut visit);
        }
        text(&|into| into.push_str(user.model), &mut visit);
        int(self.adv_engine.into(), &mut visit);
        int(referer.engine().into(), &mut visit);
        text(&|into| self.write_phrase(into), &mut visit);
        text(&|into| page.write_url(into), &mut visit);
        int(page.hash(), &mut visit);
        text(&|into| referer.write(into), &mut visit);
        text(&|into| referer.write_host(into), &mut visit);
        int(referer.hash(), &mut visit);
        text(&|into| page.write_title(into), &mut visit);
        int(self.traffic_source.into(), &mut visit);
        for flag in [self.is_refresh, self.is_link, self.is_download, self.is_counted] {
            int(flag.into(), &mut visit);
        }
        for time in self.times_ms {
            int(time as i64, &mut visit);
        }
    }

    /// Appends the row as a line: columns separated by tabs. Nothing in it needs an escape.
    pub fn write_tsv(&self, scratch: &mut String, into: &mut Vec<u8>) {
        use std::io::Write;
        self.each(scratch, |cell| {
            // Writing to memory cannot fail.
            let _ = match cell {
                Cell::Int(value) => write!(into, "{value}\t"),
                Cell::Text(text) => write!(into, "{text}\t"),
            };
        });
        if let Some(last) = into.last_mut() {
            *last = b'\n';
        }
    }

    /// Minutes since the first of July 2013.
    pub fn minute(&self) -> u64 {
        (self.day + 1) * SECONDS / 60 + self.second / 60
    }

    fn write_date(&self, into: &mut String) {
        write_date(self.day, into);
    }

    fn write_time(&self, into: &mut String) {
        self.write_date(into);
        let (hour, minute, second) = (self.second / 3600, self.second / 60 % 60, self.second % 60);
        // Writing to a text cannot fail.
        let _ = write!(into, " {hour:02}:{minute:02}:{second:02}");
    }

    fn write_phrase(&self, into: &mut String) {
        if let Some(phrase) = self.referer.phrase() {
            pages::write_phrase(phrase, into);
        }
    }
}

/// The date of a day, from zero.
pub fn write_date(day: u64, into: &mut String) {
    // Writing to a text cannot fail.
    let _ = write!(into, "2013-07-{:02}", day + 2);
}
