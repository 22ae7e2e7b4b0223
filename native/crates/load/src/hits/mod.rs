//! Analytical queries over a table of page views, in SQL that is the same for every server.
//!
//! What the rows are, and what some questions must answer, is decided in `assay_workload::hits`. The
//! schema and the queries are our own, in the style of a public benchmark of such queries: counts,
//! sums, distinct counts, groups of few and of many values with their first places, patterns, the
//! dashboards of one site. They keep to plain types, no function beside `LENGTH`, no index, and an
//! ORDER BY without ties wherever there is a LIMIT, so that PostgreSQL, MariaDB, DuckDB and
//! ClickHouse all take them as they are and give one answer.
//!
//! | module | what |
//! |---|---|
//! | [`schema`] | the table |
//! | [`queries`] | the queries, their literals made for the number of rows |
//! | [`answers`] | answers as texts, and what each is compared with |
//! | [`bulk`] | many rows at once: COPY, or INSERT of many rows |
//! | [`checkout`] | somebody's own files of a benchmark: table, queries, rows |

pub mod answers;
pub mod bulk;
pub mod checkout;
pub mod queries;
pub mod schema;

pub use answers::{Expected, Work};
pub use checkout::Checkout;
