//! The rows of `hits`: the published facts, and that each can be made alone.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use assay_workload::WorkloadError;
use assay_workload::hits::shares::{self, ALL};
use assay_workload::hits::{Parameters, Plan, Question, Row, Twin};

const ROWS: u64 = 400_000;

fn plan(rows: u64, seed: u64) -> Plan {
    Plan::new(Parameters { rows, seed }).unwrap()
}

/// The rows that the facts are compared with.
fn rows() -> &'static [Row] {
    static ROWS_MADE: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS_MADE.get_or_init(|| {
        let plan = plan(ROWS, 1);
        (0..ROWS).map(|row| plan.row(row)).collect()
    })
}

fn count(holds: impl Fn(&Row) -> bool) -> f64 {
    rows().iter().filter(|row| holds(row)).count() as f64
}

/// The most frequent values with their shares of the rows.
fn top<T: std::hash::Hash + Eq>(value: impl Fn(&Row) -> T, most: usize) -> Vec<(T, f64)> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    rows().iter().for_each(|row| *counts.entry(value(row)).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(most);
    counts.into_iter().map(|(value, count)| (value, count as f64 / ROWS as f64)).collect()
}

fn is_near(found: f64, fact: f64, tolerance: f64) -> bool {
    (found / fact - 1.0).abs() <= tolerance
}

fn tsv(row: &Row) -> String {
    let (mut scratch, mut line) = (String::new(), Vec::new());
    row.write_tsv(&mut scratch, &mut line);
    String::from_utf8(line).unwrap()
}

#[test]
fn a_row_is_the_same_whoever_makes_it_and_when() {
    let (first, again) = (plan(50_000, 7), plan(50_000, 7));
    let forward: Vec<_> = (0..50_000).map(|row| first.row(row)).collect();
    for row in (0..50_000).rev().step_by(7) {
        assert_eq!(again.row(row), forward[row as usize]);
    }
    assert_ne!(plan(50_000, 8).row(0), forward[0]);
}

#[test]
fn some_rows_are_known_on_every_machine() {
    let plan = plan(10_000, 1);
    for (row, line) in [
        (
            0,
            "7719101447349082939\t1\t2013-07-02\t2013-07-02 08:54:18\t1974\t\
         3754453707182398332\t1090\t143386792\t4\t3\t1366\t768\t1350\t668\t0\t\t0\t0\t\t\
         http://site0001.example/design/office-0157192\t593162279565920602\t\t\t0\t\
         office design of site 0001\t0\t0\t0\t0\t1\t15\t147\n",
        ),
        (
            5_003,
            "1005651466282155810\t941\t2013-07-02\t2013-07-02 19:05:31\t2585\t\
         4192471135562641496\t860\t-189207213\t49\t2\t1920\t1080\t1912\t1020\t0\t\t0\t0\t\
         \thttp://site0941.example/\t974470125787057706\t\
         http://site0941.example/health/office-0000069\tsite0941.example\t\
         227961888906552381\tlatest topics of site 0941\t-1\t0\t1\t0\t1\t230\t3616\n",
        ),
    ] {
        assert_eq!(tsv(&plan.row(row)), line);
    }
}

#[test]
fn too_few_and_too_many_rows_are_refused() {
    for rows in [0, 9_999, 1_000_000_001] {
        let refused = Plan::new(Parameters { rows, seed: 1 });
        assert!(matches!(refused, Err(WorkloadError::OutOfRange { name: "rows", .. })));
    }
}

#[test]
fn rows_are_in_the_order_of_counter_and_day() {
    let order: Vec<_> = rows().iter().map(|row| (row.page.site, row.day)).collect();
    assert!(order.is_sorted());
    let days: HashSet<_> = order.iter().map(|(_, day)| day).collect();
    assert_eq!(days.len(), 30);
}

#[test]
fn the_largest_counter_has_a_ninth_of_the_rows() {
    let counters = top(|row| row.page.site, 1);
    assert_eq!(counters[0].0, 62);
    assert!(is_near(counters[0].1, 0.1096, 0.01));
}

#[test]
fn the_mean_width_is_near_the_published_one() {
    let mean = Twin::of(&plan(ROWS, 1)).mean_width();
    assert!((mean - shares::MEAN_WIDTH).abs() < 12.0, "{mean}");
}

#[test]
fn as_many_users_and_phrases_are_distinct_as_published() {
    let users: HashSet<_> = rows().iter().map(|row| row.user.id).collect();
    let phrases: HashSet<_> = rows().iter().filter_map(|row| row.referer.phrase()).collect();
    let share = |count: usize| count as f64 / ROWS as f64;
    assert!(is_near(share(users.len()), shares::DISTINCT_USERS, 0.03), "{}", share(users.len()));
    assert!(
        is_near(share(phrases.len()), shares::DISTINCT_PHRASES, 0.05),
        "{}",
        share(phrases.len())
    );
}

#[test]
fn most_rows_have_no_phrase() {
    let share = count(|row| row.referer.phrase().is_none()) / ROWS as f64;
    assert!((0.86..0.88).contains(&share), "{share}");
}

#[test]
fn few_rows_have_an_advertising_engine_and_the_first_is_as_published() {
    let engines: u64 = shares::ADV_ENGINES.iter().map(|(_, share)| share).sum();
    let found = count(|row| row.adv_engine != 0) / ROWS as f64;
    assert!(is_near(found, engines as f64 / ALL as f64, 0.06), "{found}");
    let first = count(|row| row.adv_engine == 2) / ROWS as f64;
    assert!(is_near(first, 404_620.0 / ALL as f64, 0.08), "{first}");
}

#[test]
fn regions_and_pages_have_their_published_shares() {
    let found: HashMap<_, _> = top(|row| row.user.region, 10).into_iter().collect();
    for (region, share) in shares::REGIONS {
        let fact = share as f64 / ALL as f64;
        assert!(is_near(found[&region], fact, 0.12), "region {region}: {}", found[&region]);
    }
    let pages = top(|row| row.page, 10);
    for ((page, found), share) in pages.into_iter().zip(shares::PAGES) {
        let fact = share as f64 / ALL as f64;
        assert!(is_near(found, fact, 0.12), "{page:?}: {found} instead of {fact}");
    }
}

/// Four hundred thousand rows have some hundred of them: so many sessions are not exact.
#[test]
fn the_most_frequent_users_addresses_and_phrases_are_of_the_published_size() {
    let users = top(|row| row.user.id, 1)[0].1;
    assert!((0.000_2..0.000_6).contains(&users), "{users}");
    let addresses = top(|row| row.user.address, 1)[0].1;
    assert!((0.000_3..0.000_9).contains(&addresses), "{addresses}");
    let phrases = top(|row| row.referer.phrase(), 2)[1].1;
    assert!((0.000_5..0.000_9).contains(&phrases), "{phrases}");
}

#[test]
fn rows_of_a_session_agree_in_their_user_and_a_user_in_all_that_is_theirs() {
    let mut users = HashMap::new();
    assert!(rows().iter().all(|row| *users.entry(row.user.id).or_insert(row.user) == row.user));
    let same = rows().windows(2).filter(|pair| pair[0].user == pair[1].user).count();
    let sessions = ROWS as f64 - same as f64;
    assert!(is_near(ROWS as f64 / sessions, 4.0, 0.03), "{sessions} sessions");
}

#[test]
fn a_number_of_a_view_is_there_twice_at_most_and_then_of_one_address() {
    let mut seen: HashMap<i64, Vec<i32>> = HashMap::new();
    rows().iter().for_each(|row| seen.entry(row.watch).or_default().push(row.user.address));
    let repeated: Vec<_> = seen.values().filter(|addresses| addresses.len() > 1).collect();
    assert!((100..2_000).contains(&repeated.len()), "{} are repeated", repeated.len());
    assert!(repeated.iter().all(|it| it.len() == 2 && it[0] == it[1]));
}

#[test]
fn a_row_has_its_columns_and_no_text_needs_an_escape() {
    for row in rows().iter().step_by(97) {
        let line = tsv(row);
        assert_eq!(line.trim_end_matches('\n').split('\t').count(), Row::COLUMNS);
        assert!(line.ends_with('\n') && !line.contains(['\\', '\'', '"']));
        assert!(line.bytes().all(|byte| byte == b'\t' || byte == b'\n' || byte >= b' '));
    }
}

#[test]
fn no_question_has_a_trivial_answer_even_with_the_fewest_rows() {
    for seed in 1..5 {
        let twin = Twin::of(&plan(10_000, seed));
        for question in
            [Question::Advertised, Question::Users, Question::Phrases, Question::Planted]
        {
            let answer: u64 = twin.answer(question).trim().parse().unwrap();
            assert!((10..9_000).contains(&answer), "{question:?}: {answer}");
        }
        let word: u64 = twin.answer(Question::Word).trim().parse().unwrap();
        assert!((20..500).contains(&word), "{word}");
        assert_eq!(twin.answer(Question::Regions).lines().count(), 10);
        assert_eq!(twin.answer(Question::Dates), "2013-07-02\t2013-07-31\n");
    }
}

#[test]
fn the_sums_of_widths_grow_by_the_rows() {
    let twin = Twin::of(&plan(10_000, 1));
    let answer = twin.answer(Question::SumsOfWidth(90));
    let sums: Vec<u64> = answer.trim().split('\t').map(|sum| sum.parse().unwrap()).collect();
    assert_eq!(sums.len(), 90);
    let width = plan(10_000, 1);
    assert_eq!(sums[0], (0..10_000).map(|row| width.row(row).user.width as u64).sum());
    assert!(sums.windows(2).all(|pair| pair[1] - pair[0] == 10_000));
}
