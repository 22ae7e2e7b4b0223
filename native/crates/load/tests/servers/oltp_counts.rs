//! What a server is asked per event, by sysbench and by us, counted by the server.

use std::collections::BTreeMap;

use assay_load::oltp::{Counts, Outcome, Statements, run_event};
use assay_wire::mysql;
use assay_wire::sql::Session;
use assay_workload::oltp::{Event, Parameters, Plan, Test};

use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;
use crate::support::{block_on, output, select, text};

const EVENTS: u64 = 7;
/// sysbench has so many rows in a table here, and so do we.
const ROWS: u32 = 300;

type Counted = BTreeMap<String, u64>;

/// The tests with their defaults, and some with other counts; with sysbench's words for them.
fn variants() -> Vec<(Parameters, Vec<&'static str>)> {
    let defaults = |test| Parameters { table_size: ROWS, ..Parameters::defaults(test, 1) };
    let mut variants: Vec<_> = Test::ALL.map(|test| (defaults(test), Vec::new())).into();
    let many = Parameters {
        point_selects: 2,
        simple_ranges: 3,
        sum_ranges: 2,
        index_updates: 2,
        non_index_updates: 3,
        delete_inserts: 2,
        skip_trx: true,
        ..defaults(Test::ReadWrite)
    };
    let words = vec![
        "--point-selects=2",
        "--simple-ranges=3",
        "--sum-ranges=2",
        "--index-updates=2",
        "--non-index-updates=3",
        "--delete-inserts=2",
        "--skip-trx=on",
    ];
    for test in Test::ALL {
        variants.push((Parameters { test, ..many.clone() }, words.clone()));
    }
    variants
}

/// Each run has a seed of its own. Left alone, sysbench takes the time in seconds: two runs of one
/// second may write the same value twice, and a write that changes nothing it reports as `other`.
fn sysbench_words(words: &[&str], command: &str, seed: usize) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    all.push(format!("--rand-seed={}", seed + 1));
    all.push(format!("--events={EVENTS}"));
    all.push(format!("--table-size={ROWS}"));
    all.extend(["--time=0", "--threads=1", "--tables=1", command].map(str::to_owned));
    all
}

async fn run_ours<S: Session>(session: &mut S, parameters: &Parameters) -> Counts {
    let plan = Plan::new(parameters.clone()).unwrap();
    let statements = Statements::prepare(session, &plan).await.unwrap();
    assert_eq!(statements.is_begin_prepared(), parameters.has_transaction());
    let mut stream = plan.stream(0);
    let (mut event, mut counts) = (Event::default(), Counts::default());
    for _ in 0..EVENTS {
        stream.take(&mut event);
        let outcome = run_event(session, &statements, &event, &mut counts).await.unwrap();
        assert_eq!(outcome, Outcome::Done);
    }
    counts
}

/// The lines `read:`, `write:` and `other:` of sysbench's report.
fn reported(report: &str) -> [u64; 3] {
    ["read:", "write:", "other:"].map(|name| {
        let line = report.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    })
}

fn assert_reported(counts: Counts, report: &str, what: &str) {
    assert_eq!([counts.reads, counts.writes, counts.others], reported(report), "{what}");
    assert_eq!(counts.errors, 0);
}

fn status(watcher: &mut mysql::Session) -> Counted {
    let names = "'Com_select', 'Com_update', 'Com_insert', 'Com_delete', 'Com_begin', \
        'Com_commit', 'Com_rollback', 'Com_set_option', 'Com_stmt_prepare', 'Com_stmt_execute'";
    let show = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
    let rows = select(watcher, &show, |row| (text(row, 0), text(row, 1).parse().unwrap()));
    assert_eq!(rows.len(), 10);
    rows.into_iter().collect()
}

/// What was counted between two looks, but for the second look, which is prepared and executed too.
fn since(before: &Counted, after: &Counted) -> Counted {
    let look = |name: &str| u64::from(matches!(name, "Com_stmt_prepare" | "Com_stmt_execute"));
    after.iter().map(|(name, count)| (name.clone(), count - before[name] - look(name))).collect()
}

#[test]
fn mariadb_counts_the_same_commands_of_us_as_of_sysbench() {
    let server = MariaDb::start(); // It counts for all of its sessions together.
    server.create("sbtest");
    output(server.sysbench("sbtest", "oltp_read_write").args(sysbench_words(&[], "prepare", 0)));
    let mut watcher = server.session("information_schema");
    for (seed, (parameters, words)) in variants().into_iter().enumerate() {
        let what = format!("{} {words:?}", parameters.test.name());
        let before = status(&mut watcher);
        let test = format!("oltp_{}", parameters.test.name());
        let report =
            output(server.sysbench("sbtest", &test).args(sysbench_words(&words, "run", seed)));
        let theirs = since(&before, &status(&mut watcher));

        let mut session = server.session("sbtest");
        let before = status(&mut watcher);
        let counts = block_on(run_ours(&mut session, &parameters));
        let ours = since(&before, &status(&mut watcher));
        assert_eq!(ours, theirs, "{what}");
        assert_reported(counts, &report, &what);
        let executed = parameters.statements() as u64 + 2 * u64::from(parameters.has_transaction());
        assert_eq!(ours["Com_stmt_execute"], executed * EVENTS, "{what}");
    }
}

/// How often each text was run, from the lines that a log got.
fn executed(log: &str) -> Counted {
    let mut counted = Counted::new();
    for line in log.lines() {
        let Some(rest) = line.strip_prefix("LOG:  ") else { continue };
        // The name of a prepared statement is nobody's business.
        let Some((_, text)) = rest.split_once(": ") else { continue };
        *counted.entry(text.to_owned()).or_default() += 1;
    }
    counted
}

#[test]
fn postgres_logs_the_same_statements_of_us_as_of_sysbench() {
    let server = Postgres::start_with_log();
    server.create("sbtest");
    output(server.sysbench("sbtest", "oltp_read_write").args(sysbench_words(&[], "prepare", 0)));
    for (seed, (parameters, words)) in variants().into_iter().enumerate() {
        let what = format!("{} {words:?}", parameters.test.name());
        let start = server.log().len();
        let test = format!("oltp_{}", parameters.test.name());
        let report =
            output(server.sysbench("sbtest", &test).args(sysbench_words(&words, "run", seed)));
        let middle = server.log().len();
        let counts = block_on(run_ours(&mut server.session("sbtest"), &parameters));
        let log = server.log();
        let (theirs, ours) = (executed(&log[start..middle]), executed(&log[middle..]));
        assert_eq!(ours, theirs, "{what}");
        let executed = parameters.statements() as u64 + 2 * u64::from(parameters.has_transaction());
        assert_eq!(ours.values().sum::<u64>(), executed * EVENTS, "{what}");
        assert_reported(counts, &report, &what);
    }
}
