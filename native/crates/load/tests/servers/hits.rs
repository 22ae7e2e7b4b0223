//! Analytical queries and uploads on real servers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use assay_load::clients::Open;
use assay_load::clients::hits::{Batches, HitsClient, Upload, UploadClient};
use assay_load::data::{self, Data, Progress};
use assay_load::hits::{Checkout, Work, answers, queries};
use assay_load::{Carried, Client, Error};
use assay_wire::{Target, mysql, postgres};
use assay_workload::hits::{Parameters, Plan};

use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;
use crate::support::{block_on, handle};

const ROWS: u64 = 10_000;

fn plan() -> Plan {
    Plan::new(Parameters { rows: ROWS, seed: 3 }).unwrap()
}

fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("hits{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Empty databases of their own for one test.
fn databases() -> (Target, Target) {
    let (postgres, mariadb, name) = (Postgres::shared(), MariaDb::shared(), next_name());
    postgres.create(&name);
    mariadb.create(&name);
    (postgres.target(&name), mariadb.target(&name))
}

fn prepare<S: Open>(data: &impl Data, target: &Target) -> u64 {
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    data::prepare::<S, _>(data, target, 1, 2, &progress, &stop).unwrap();
    progress.rows.load(Ordering::Relaxed)
}

fn session<S: Open>(target: &Target) -> S {
    block_on(S::open(&handle(), target)).unwrap()
}

fn ask<S: Open>(session: &mut S, text: &str) -> String {
    block_on(answers::ask(session, text)).unwrap().text()
}

fn faults<S: Open>(data: &impl Data, session: &mut S, is_fresh: bool) -> Vec<String> {
    block_on(data.check(session, is_fresh)).unwrap()
}

fn client<S: Open>(target: &Target, work: Work) -> HitsClient<S> {
    block_on(HitsClient::open(handle(), target.clone(), Arc::new(work))).unwrap()
}

fn loading<S: Open>(target: &Target) {
    let plan = plan();
    assert_eq!(prepare::<S>(&plan, target), ROWS);
    let mut session = session::<S>(target);
    assert_eq!(faults(&plan, &mut session, true), [""; 0]);
    // Loaded again, the table is the same and not twice as long.
    prepare::<S>(&plan, target);
    assert_eq!(faults(&plan, &mut session, true), [""; 0]);
    block_on(session.batch("UPDATE hits SET adv_engine_id = 7 WHERE region_id = 229")).unwrap();
    let wrong = faults(&plan, &mut session, false);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    assert!(wrong[0].starts_with("q02 is answered otherwise than the generator's own answer"));
    block_on(plan.remove(&mut session)).unwrap();
    assert!(block_on(answers::ask(&mut session, "SELECT COUNT(*) FROM hits")).is_err());
}

#[test]
fn what_was_loaded_is_what_the_generator_counts_and_a_change_is_found() {
    let (postgres, mariadb) = databases();
    loading::<postgres::Session>(&postgres);
    loading::<mysql::Session>(&mariadb);
}

#[test]
fn servers_of_two_kinds_give_every_query_the_same_answer_and_none_is_empty() {
    let (plan, (postgres, mariadb)) = (plan(), databases());
    prepare::<postgres::Session>(&plan, &postgres);
    prepare::<mysql::Session>(&plan, &mariadb);
    let mut one = session::<postgres::Session>(&postgres);
    let mut other = session::<mysql::Session>(&mariadb);
    let mut compared = 0;
    for (place, query) in queries::all(&plan).into_iter().enumerate() {
        let (one, other) = (ask(&mut one, &query.text), ask(&mut other, &query.text));
        assert!(!one.is_empty(), "{} has no rows", answers::name(place));
        assert_eq!(one.lines().count(), other.lines().count(), "{}", answers::name(place));
        // Every server has digits of its own for an average.
        if !query.text.contains("AVG") {
            assert_eq!(one, other, "{}: {}", answers::name(place), query.text);
            compared += 1;
        }
    }
    assert_eq!(compared, 34);
}

/// Every query twice, so that each is compared with its own first answer.
fn rounds<S: Open>(target: &Target) {
    let plan = plan();
    prepare::<S>(&plan, target);
    let work = Work::hits(&plan);
    let kinds = work.kinds().len();
    let mut client = client::<S>(target, work);
    for round in 0..2 {
        for kind in 0..kinds {
            let carried = block_on(client.carry_out()).unwrap();
            assert_eq!(carried, Carried::one(kind), "round {round}");
        }
    }
    let mut session = session::<S>(target);
    block_on(session.batch("UPDATE hits SET title = 'x' WHERE counter_id = 62")).unwrap();
    let ended = (0..kinds).map(|_| block_on(client.carry_out())).find_map(Result::err);
    let Some(Error::Data(words)) = ended else { panic!("{ended:?}") };
    assert!(words.starts_with("q35 is answered otherwise than the first answer"), "{words}");
    assert!(words.contains("\"latest topics of site 0062\" and is \"x\""), "{words}");
}

#[test]
fn a_run_asks_all_in_order_and_ends_when_an_answer_is_not_the_first_one() {
    let (postgres, mariadb) = databases();
    rounds::<postgres::Session>(&postgres);
    rounds::<mysql::Session>(&mariadb);
}

fn ninety_sums<S: Open>(target: &Target) {
    let plan = plan();
    prepare::<S>(&plan, target);
    let mut client = client::<S>(target, Work::aggregate(&plan, 90));
    assert_eq!(block_on(client.carry_out()).unwrap(), Carried::one(0));
    let mut session = session::<S>(target);
    let one_row = "UPDATE hits SET resolution_width = resolution_width + 1 \
                   WHERE watch_id = (SELECT watch FROM (SELECT MIN(watch_id) AS watch FROM hits) t)";
    assert_eq!(block_on(session.batch(one_row)).unwrap().affected, 1);
    let ended = block_on(client.carry_out());
    assert!(matches!(ended, Err(Error::Data(words)) if words.contains("row 1, column 1 was")));
}

#[test]
fn ninety_sums_are_exact_and_one_pixel_more_is_found() {
    let (postgres, mariadb) = databases();
    ninety_sums::<postgres::Session>(&postgres);
    ninety_sums::<mysql::Session>(&mariadb);
}

fn refused<S: Open>(target: &Target, code: &str) {
    let mut client = client::<S>(target, Work::aggregate(&plan(), 90));
    for _ in 0..2 {
        let carried = block_on(client.carry_out()).unwrap();
        assert!(carried.is_error);
        assert_eq!(client.take_refusal().unwrap().code, code);
    }
}

#[test]
fn a_query_that_is_refused_is_an_error_and_the_next_is_asked() {
    let (postgres, mariadb) = databases();
    refused::<postgres::Session>(&postgres, "42P01");
    refused::<mysql::Session>(&mariadb, "1146");
}

fn uploading<S: Open>(target: &Target) {
    let upload = Upload::new(plan(), 500).unwrap();
    prepare::<S>(&upload, target);
    let mut session = session::<S>(target);
    assert_eq!(faults(&upload, &mut session, true), [""; 0]);
    let batches = Arc::new(Batches::make::<S>(&upload).unwrap());
    let open = || UploadClient::<S>::open(handle(), target.clone(), Arc::clone(&batches));
    let mut clients = [block_on(open()).unwrap(), block_on(open()).unwrap()];
    for batch in 0..ROWS as usize / 500 {
        let carried = block_on(clients[batch % 2].carry_out()).unwrap();
        assert_eq!(carried, Carried::one(0));
    }
    // All batches once are the rows of the table that queries ask.
    let texts = ["SELECT COUNT(*)", "SELECT SUM(resolution_width)", "SELECT COUNT(DISTINCT url)"];
    prepare::<S>(&plan(), target);
    for text in texts {
        let uploaded = ask(&mut session, &format!("{text} FROM hits_upload"));
        assert_eq!(uploaded, ask(&mut session, &format!("{text} FROM hits")));
    }
    assert_eq!(faults(&upload, &mut session, false), [""; 0]);
    assert_eq!(faults(&upload, &mut session, true).len(), 1);
    block_on(session.batch("DELETE FROM hits_upload WHERE event_minute < 3000")).unwrap();
    let wrong = faults(&upload, &mut session, false);
    assert!(wrong[0].contains("not whole batches of 500"), "{wrong:?}");
    block_on(session.batch("DROP TABLE hits_upload")).unwrap();
    assert!(block_on(clients[0].carry_out()).unwrap().is_error);
    assert!(clients[0].take_refusal().is_some());
}

#[test]
fn connections_share_out_the_batches_and_all_of_them_are_the_table() {
    let (postgres, mariadb) = databases();
    uploading::<postgres::Session>(&postgres);
    uploading::<mysql::Session>(&mariadb);
}

#[test]
fn an_upload_that_cannot_be_is_refused() {
    for (rows, batch) in [(ROWS, 0), (ROWS, 20_001), (ROWS, 300), (2_000_000, 1_000)] {
        let plan = Plan::new(Parameters { rows, seed: 1 }).unwrap();
        assert!(Upload::new(plan, batch).is_err(), "{rows} rows by {batch}");
    }
}

/// Three files in a folder that is removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(create: &str, queries: &str, data: &str) -> Self {
        let folder = format!("assay-{}-{}", next_name(), std::process::id());
        let files = Self(std::env::temp_dir().join(folder));
        fs::create_dir(&files.0).unwrap();
        for (name, text) in [("create", create), ("queries", queries), ("data", data)] {
            fs::write(files.0.join(name), text).unwrap();
        }
        files
    }

    fn checkout(&self) -> Checkout {
        let [create, queries, data] = ["create", "queries", "data"].map(|name| self.0.join(name));
        Checkout::new(create, queries, data).unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const CREATE: &str = "-- mine; and only mine\nCREATE TABLE hits (a INTEGER, b VARCHAR(50));\n";
const QUERIES: &str = "SELECT COUNT(*) FROM hits;\n\nSELECT a, b FROM hits ORDER BY a;\n";
const DATA: &str = "1\tit's\n2\ttab\\there\n3\tback\\\\slash\n4\t\\N\n5\t0070\n6\t\u{e9}";

fn own_files<S: Open>(target: &Target) {
    let files = Files::new(CREATE, QUERIES, DATA);
    let checkout = files.checkout();
    assert_eq!((prepare::<S>(&checkout, target), checkout.rows()), (6, 6));
    let mut session = session::<S>(target);
    assert_eq!(faults(&checkout, &mut session, true), [""; 0]);
    let rows = ask(&mut session, "SELECT b FROM hits ORDER BY a");
    assert_eq!(rows, "it's\ntab\there\nback\\slash\n\\N\n0070\n\u{e9}\n");
    let work = checkout.work().unwrap();
    assert_eq!(work.kinds(), ["q01", "q02"]);
    let mut client = client::<S>(target, work);
    (0..4).for_each(|kind| {
        assert_eq!(block_on(client.carry_out()).unwrap(), Carried::one(kind % 2));
    });
    // Somebody else's queries may have ties: only how many rows there are is compared.
    block_on(session.batch("UPDATE hits SET b = 'other'")).unwrap();
    (0..2).for_each(|_| assert!(!block_on(client.carry_out()).unwrap().is_error));
    block_on(session.batch("DELETE FROM hits WHERE a = 6")).unwrap();
    block_on(client.carry_out()).unwrap();
    assert!(matches!(block_on(client.carry_out()), Err(Error::Data(_))));
    assert_eq!(faults(&checkout, &mut session, false), ["hits has 5 rows, and the file 6 lines"]);
}

#[test]
fn somebodys_own_table_queries_and_rows_are_loaded_and_asked() {
    let (postgres, mariadb) = databases();
    own_files::<postgres::Session>(&postgres);
    own_files::<mysql::Session>(&mariadb);
}

#[test]
fn files_that_are_not_there_or_empty_are_named() {
    let files = Files::new(CREATE, "\n\n", DATA);
    let empty = files.checkout().work().unwrap_err().to_string();
    assert!(empty.contains("queries") && empty.contains("has 0 queries"), "{empty}");
    let nowhere = || files.0.join("nowhere");
    let absent = Checkout::new(nowhere(), nowhere(), nowhere()).unwrap_err().to_string();
    assert!(absent.ends_with("nowhere: No such file or directory (os error 2)"), "{absent}");
}
