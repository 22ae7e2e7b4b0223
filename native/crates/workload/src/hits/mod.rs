//! A table of page views in the shape of a web analytics log, and what queries on it must answer.
//!
//! Synthetic, to be labelled "hits-shaped synthetic, N rows", and never by the name of a public
//! benchmark: schema, texts and queries are our own. What is taken over are published facts of one
//! public set of 100 million rows: shares of regions, advertising engines, pages, phrases, users and
//! addresses, the share of distinct users and phrases, the mean width of screens, thirty days of
//! July 2013. Tests compare them.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | rows and seed, checked; whose row a number is |
//! | [`counters`] | which site has which rows: they are ordered by site and day |
//! | [`visitors`] | users, and what belongs to them: region, address, browser, screen |
//! | [`pages`] | pages of a site, phrases, and their texts |
//! | [`row`] | a row and its columns |
//! | [`mod@twin`] | the slow obvious answers to some questions |
//!
//! Every column of row i is a function of (seed, i, rows) alone, so any range can be made by
//! anybody, in any order. Only integers are used: every machine makes the same rows.

pub mod counters;
mod draws;
pub mod pages;
pub mod plan;
pub mod row;
pub mod shares;
pub mod twin;
pub mod visitors;

pub use pages::Page;
pub use plan::{Parameters, Plan};
pub use row::{Cell, Row};
pub use twin::{Question, Twin};
