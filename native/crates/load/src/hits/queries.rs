//! The queries, in order. Literals are made for the number of rows, so that no answer is empty.

use assay_workload::hits::counters::LARGEST;
use assay_workload::hits::pages::WORD;
use assay_workload::hits::visitors::PLANTED_USER;
use assay_workload::hits::{Page, Plan, Question};

/// A query, and what it must answer if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its text.
    pub text: String,
    /// What the workload's twin is asked instead.
    pub twin: Option<Question>,
}

/// Those that the twin answers too.
const COUNTED: [(Question, &str); 5] = [
    (Question::Rows, "SELECT COUNT(*) FROM hits"),
    (Question::Advertised, "SELECT COUNT(*) FROM hits WHERE adv_engine_id <> 0"),
    (
        Question::Sums,
        "SELECT SUM(adv_engine_id), SUM(resolution_width), MIN(resolution_width), \
         MAX(resolution_width) FROM hits",
    ),
    (Question::Users, "SELECT COUNT(DISTINCT user_id) FROM hits"),
    (Question::Phrases, "SELECT COUNT(DISTINCT search_phrase) FROM hits"),
];
const GROUPED: [(Question, &str); 4] = [
    (Question::Dates, "SELECT MIN(event_date), MAX(event_date) FROM hits"),
    (
        Question::AdvEngines,
        "SELECT adv_engine_id, COUNT(*) AS views FROM hits WHERE adv_engine_id <> 0 \
         GROUP BY adv_engine_id ORDER BY views DESC, adv_engine_id",
    ),
    (
        Question::Regions,
        "SELECT region_id, COUNT(DISTINCT user_id) AS users FROM hits GROUP BY region_id \
         ORDER BY users DESC, region_id LIMIT 10",
    ),
    (
        Question::Frequent,
        "SELECT user_id, COUNT(*) AS views FROM hits GROUP BY user_id \
         ORDER BY views DESC, user_id LIMIT 10",
    ),
];

/// Averages, and groups of whatever size.
const GROUPS: [&str; 14] = [
    "SELECT AVG(resolution_width), AVG(window_height) FROM hits",
    "SELECT region_id, SUM(adv_engine_id), COUNT(*) AS views, AVG(resolution_width), \
     COUNT(DISTINCT user_id) FROM hits GROUP BY region_id ORDER BY views DESC, region_id LIMIT 10",
    "SELECT phone_model, COUNT(DISTINCT user_id) AS users FROM hits WHERE phone_model <> '' \
     GROUP BY phone_model ORDER BY users DESC, phone_model LIMIT 10",
    "SELECT phone_maker, phone_model, COUNT(DISTINCT user_id) AS users FROM hits \
     WHERE phone_model <> '' GROUP BY phone_maker, phone_model \
     ORDER BY users DESC, phone_maker, phone_model LIMIT 10",
    "SELECT search_phrase, COUNT(*) AS views FROM hits WHERE search_phrase <> '' \
     GROUP BY search_phrase ORDER BY views DESC, search_phrase LIMIT 10",
    "SELECT search_phrase, COUNT(DISTINCT user_id) AS users FROM hits WHERE search_phrase <> '' \
     GROUP BY search_phrase ORDER BY users DESC, search_phrase LIMIT 10",
    "SELECT search_engine_id, search_phrase, COUNT(*) AS views FROM hits \
     WHERE search_phrase <> '' GROUP BY search_engine_id, search_phrase \
     ORDER BY views DESC, search_engine_id, search_phrase LIMIT 10",
    "SELECT user_id, search_phrase, COUNT(*) AS views FROM hits GROUP BY user_id, search_phrase \
     ORDER BY views DESC, user_id, search_phrase LIMIT 10",
    "SELECT user_id, event_minute, search_phrase, COUNT(*) AS views FROM hits \
     GROUP BY user_id, event_minute, search_phrase \
     ORDER BY views DESC, user_id, event_minute, search_phrase LIMIT 10",
    "SELECT search_engine_id, client_ip, COUNT(*) AS views, SUM(is_refresh), \
     AVG(resolution_width) FROM hits WHERE search_phrase <> '' \
     GROUP BY search_engine_id, client_ip ORDER BY views DESC, search_engine_id, client_ip \
     LIMIT 10",
    "SELECT watch_id, client_ip, COUNT(*) AS views, SUM(is_refresh), AVG(resolution_width) \
     FROM hits GROUP BY watch_id, client_ip ORDER BY views DESC, watch_id, client_ip LIMIT 10",
    "SELECT url, COUNT(*) AS views FROM hits GROUP BY url ORDER BY views DESC, url LIMIT 10",
    "SELECT 1 AS one, url, COUNT(*) AS views FROM hits GROUP BY one, url \
     ORDER BY views DESC, url LIMIT 10",
    "SELECT client_ip, client_ip - 1, client_ip - 2, COUNT(*) AS views FROM hits \
     GROUP BY client_ip, client_ip - 1, client_ip - 2 ORDER BY views DESC, client_ip LIMIT 10",
];

/// SUM(width + k) for each k below `sums`.
pub fn sums_of_width(sums: usize) -> Query {
    let sum = |add: usize| match add {
        0 => "SUM(resolution_width)".to_owned(),
        add => format!("SUM(resolution_width + {add})"),
    };
    let text = format!("SELECT {} FROM hits", (0..sums).map(sum).collect::<Vec<_>>().join(", "));
    Query { text, twin: Some(Question::SumsOfWidth(sums)) }
}

/// All queries for the rows of a plan.
pub fn all(plan: &Plan) -> Vec<Query> {
    let rows = plan.parameters().rows;
    let twin =
        |(question, text): (Question, &str)| Query { text: text.to_owned(), twin: Some(question) };
    let alone = |text: String| Query { text, twin: None };
    let mut queries: Vec<_> = COUNTED.into_iter().chain(GROUPED).map(twin).collect();
    queries.extend(GROUPS.map(|text| alone(text.to_owned())));
    queries.push(twin((
        Question::Planted,
        &format!("SELECT COUNT(*) FROM hits WHERE user_id = {PLANTED_USER}"),
    )));
    queries.push(twin((
        Question::Word,
        &format!("SELECT COUNT(*) FROM hits WHERE url LIKE '%{WORD}%'"),
    )));
    queries.extend(patterns(rows).map(alone));
    queries.push(sums_of_width(90));
    queries.extend(dashboards(rows).map(alone));
    queries
}

/// Texts that are searched, sorted and measured.
fn patterns(rows: u64) -> [String; 7] {
    // A thousandth of the rows.
    let many = rows / 1000;
    [
        format!(
            "SELECT search_phrase, MIN(url), COUNT(*) AS views FROM hits \
             WHERE url LIKE '%{WORD}%' AND search_phrase <> '' GROUP BY search_phrase \
             ORDER BY views DESC, search_phrase LIMIT 10"
        ),
        format!(
            "SELECT search_phrase, MIN(url), MIN(title), COUNT(*) AS views, \
             COUNT(DISTINCT user_id) FROM hits WHERE title LIKE '%{WORD}%' \
             AND url NOT LIKE '%{WORD}%' AND search_phrase <> '' GROUP BY search_phrase \
             ORDER BY views DESC, search_phrase LIMIT 10"
        ),
        format!(
            "SELECT watch_id, event_time, counter_id, user_id, region_id, url, referer, title, \
             search_phrase FROM hits WHERE url LIKE '%{WORD}%' \
             ORDER BY event_time, watch_id, url LIMIT 10"
        ),
        "SELECT search_phrase, event_time, watch_id FROM hits WHERE search_phrase <> '' \
         ORDER BY event_time, watch_id LIMIT 10"
            .to_owned(),
        "SELECT search_phrase, watch_id FROM hits WHERE search_phrase <> '' \
         ORDER BY search_phrase, watch_id LIMIT 10"
            .to_owned(),
        format!(
            "SELECT counter_id, AVG(LENGTH(url)) AS url_length, COUNT(*) AS views FROM hits \
             WHERE url <> '' GROUP BY counter_id HAVING COUNT(*) > {many} \
             ORDER BY views DESC, counter_id LIMIT 25"
        ),
        format!(
            "SELECT referer_host, AVG(LENGTH(referer)) AS referer_length, COUNT(*) AS views, \
             MIN(referer) FROM hits WHERE referer <> '' GROUP BY referer_host \
             HAVING COUNT(*) > {many} ORDER BY views DESC, referer_host LIMIT 25"
        ),
    ]
}

/// What one site's owner looks at.
fn dashboards(rows: u64) -> [String; 7] {
    // Far enough that a server has to sort more than it shows, near enough to be within the answer.
    let offset = (rows / 10_000).min(1_000);
    let month = format!(
        "counter_id = {LARGEST} AND event_date BETWEEN '2013-07-01' AND '2013-07-31' \
         AND is_refresh = 0"
    );
    let home = Page::first(LARGEST).hash();
    [
        format!(
            "SELECT url, COUNT(*) AS views FROM hits WHERE {month} AND is_counted = 1 \
             AND url <> '' GROUP BY url ORDER BY views DESC, url LIMIT 10"
        ),
        format!(
            "SELECT title, COUNT(*) AS views FROM hits WHERE {month} AND is_counted = 1 \
             AND title <> '' GROUP BY title ORDER BY views DESC, title LIMIT 10"
        ),
        format!(
            "SELECT url, COUNT(*) AS views FROM hits WHERE {month} AND is_link <> 0 \
             AND is_download = 0 GROUP BY url ORDER BY views DESC, url LIMIT 10 OFFSET {offset}"
        ),
        format!(
            "SELECT traffic_source, search_engine_id, adv_engine_id, \
             CASE WHEN search_engine_id = 0 AND adv_engine_id = 0 THEN referer ELSE '' END \
             AS source, url, COUNT(*) AS views FROM hits WHERE {month} \
             GROUP BY traffic_source, search_engine_id, adv_engine_id, source, url \
             ORDER BY views DESC, traffic_source, search_engine_id, adv_engine_id, source, url \
             LIMIT 10 OFFSET {offset}"
        ),
        format!(
            "SELECT url_hash, event_date, COUNT(*) AS views FROM hits WHERE {month} \
             AND traffic_source IN (-1, 6) AND referer_hash = {home} \
             GROUP BY url_hash, event_date ORDER BY views DESC, url_hash, event_date \
             LIMIT 10 OFFSET {offset}"
        ),
        format!(
            "SELECT window_width, window_height, COUNT(*) AS views FROM hits WHERE {month} \
             AND is_counted = 1 AND url_hash = {home} GROUP BY window_width, window_height \
             ORDER BY views DESC, window_width, window_height LIMIT 10 OFFSET {offset}"
        ),
        format!(
            "SELECT event_minute, COUNT(*) AS views FROM hits WHERE counter_id = {LARGEST} \
             AND event_date BETWEEN '2013-07-14' AND '2013-07-15' AND is_refresh = 0 \
             AND is_counted = 1 GROUP BY event_minute ORDER BY event_minute \
             LIMIT 10 OFFSET {offset}"
        ),
    ]
}
