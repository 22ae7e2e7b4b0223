//! A child moves money; the parent kills it, replays its log, and counts.
//!
//! `ASSAY_TRANSACTION_KILLS=200` kills more often than the usual number.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_index::IndexKind;
use assay_log::{Log, LogError, LogMode, Options as LogOptions, Storage};
use assay_transactions::{
    ConcurrencyControl, Database, Failure, MultiVersion, NoWait, Optimistic, WaitDie, recover_into,
};
use assay_workload::tables::{Direction, TableId, Tables};

use crate::support::Random;

/// Accounts, and one receipt per transfer. Receipts of an earlier round are taken away.
const ACCOUNTS: TableId = TableId(0);
const RECEIPTS: TableId = TableId(1);
const ACCOUNT_COUNT: u64 = 20;
const FIRST_BALANCE: u64 = 1000;

type Row = [u8; 8];

fn loaded<C: ConcurrencyControl>(log: Option<Arc<Log>>) -> Database<C> {
    let mut options =
        crate::support::options(&crate::support::schemas(2, 1), IndexKind::Optimistic);
    options.log = log;
    let database = Database::new(options).unwrap();
    let mut loader = database.load();
    for key in 0..ACCOUNT_COUNT {
        loader.row(ACCOUNTS, key, &FIRST_BALANCE.to_le_bytes()).unwrap();
    }
    drop(loader);
    database
}

fn number(row: Row) -> u64 {
    u64::from_le_bytes(row)
}

fn transfer<T: Tables>(tables: &mut T, receipt: u64, random: &mut Random) -> Result<(), T::Abort> {
    let from = random.below(ACCOUNT_COUNT);
    let to = (from + 1 + random.below(ACCOUNT_COUNT - 1)) % ACCOUNT_COUNT;
    let mut row = [0; 8];
    tables.read_for_update(ACCOUNTS, from, &mut row)?;
    let amount = number(row).min(1 + receipt % 50);
    tables.write(ACCOUNTS, from, &(number(row) - amount).to_le_bytes())?;
    tables.read_for_update(ACCOUNTS, to, &mut row)?;
    tables.write(ACCOUNTS, to, &(number(row) + amount).to_le_bytes())?;
    tables.insert(RECEIPTS, receipt, &receipt.to_le_bytes())?;
    // Keys that come and go, also across deletions by the other thread.
    let common = 1 << 60 | random.below(4);
    if tables.read(RECEIPTS, common, &mut row)? {
        tables.delete(RECEIPTS, common)
    } else {
        tables.insert(RECEIPTS, common, &receipt.to_le_bytes())
    }
}

/// What a database made of the log alone holds: the sum of balances, and the receipts.
fn replayed<C: ConcurrencyControl>(path: &Path) -> (u64, HashMap<u64, u64>) {
    let database = loaded::<C>(None);
    recover_into(path, &mut database.load()).unwrap();
    let mut tables = database.quiescent();
    let (mut sum, mut receipts) = (0, HashMap::new());
    let all = usize::MAX;
    tables
        .scan(ACCOUNTS, 0..=u64::MAX, Direction::Forward, all, |_, row| {
            sum += number(row.try_into().unwrap());
        })
        .unwrap();
    tables
        .scan(RECEIPTS, 0..=u64::MAX, Direction::Forward, all, |key, row| {
            receipts.insert(key, number(row.try_into().unwrap()));
        })
        .unwrap();
    (sum, receipts)
}

fn added_again<C: ConcurrencyControl>(path: &Path) {
    let _ = std::fs::remove_file(path);
    let log = Log::create(path, LogMode::Group, LogOptions::new(crate::support::clock())).unwrap();
    let database = loaded::<C>(Some(Arc::new(log)));
    let (mut busy, mut fresh) = (database.worker(), database.worker());
    busy.transact(|tables| tables.insert(RECEIPTS, 7, &[1; 8])).unwrap();
    for _ in 0..100 {
        busy.transact(|tables| tables.write(ACCOUNTS, 1, &FIRST_BALANCE.to_le_bytes())).unwrap();
    }
    busy.transact(|tables| tables.delete(RECEIPTS, 7)).unwrap();
    fresh.transact(|tables| tables.insert(RECEIPTS, 7, &[2; 8])).unwrap();
    drop((busy, fresh));
    drop(database);
    let (_, receipts) = replayed::<C>(path);
    assert_eq!(receipts.get(&7), Some(&number([2; 8])), "{}", C::KIND.name());
    // And the next TIDs are higher than all of the log.
    let second = loaded::<C>(None);
    let recovered = recover_into(path, &mut second.load()).unwrap();
    let mut worker = second.worker();
    worker.record_history(true);
    worker.transact(|tables| tables.write(RECEIPTS, 7, &[3; 8])).unwrap();
    assert!(worker.take_history()[0].tid > Some(recovered.tid_max));
}

#[test]
fn a_key_deleted_by_a_busy_worker_and_added_by_a_fresh_one_is_there_after_replay() {
    let name = format!("assay-transactions-again-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    every_kind!(added_again(&path));
    std::fs::remove_file(&path).unwrap();
}

/// A device that is full after some bytes.
struct Small(std::sync::Mutex<usize>);

impl Storage for Small {
    fn write_all_at(&self, bytes: &[u8], _: u64) -> std::io::Result<()> {
        let mut left = self.0.lock().unwrap();
        *left = left.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(())
    }

    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
}

fn full_disk<C: ConcurrencyControl>(mode: LogMode) {
    let storage = Box::new(Small(4000.into()));
    let log = Log::on_storage(storage, mode, LogOptions::new(crate::support::clock())).unwrap();
    let database = loaded::<C>(Some(Arc::new(log)));
    let (mut worker, mut other) = (database.worker(), database.worker());
    let mut receipt = 0;
    let failure = loop {
        receipt += 1;
        assert!(receipt < 1000);
        let mut random = Random(receipt);
        if let Err(failure) = worker.transact(|tables| transfer(tables, receipt, &mut random)) {
            break failure;
        }
    };
    assert!(matches!(failure, Failure::Log(LogError::Failed { .. })), "{failure}");
    for worker in [&mut worker, &mut other] {
        let refused = worker.transact(|tables| tables.read(ACCOUNTS, 0, &mut [0; 8]));
        assert!(matches!(refused, Err(Failure::Log(_))), "{}", C::KIND.name());
    }
}

#[test]
fn when_the_disk_is_full_nothing_more_is_acknowledged_and_the_database_says_why() {
    for mode in [LogMode::PerCommit, LogMode::Group, LogMode::PrivateGroup] {
        every_kind!(full_disk(mode));
    }
}

fn too_large<C: ConcurrencyControl>() {
    let options = LogOptions { record_bytes_max: 100, ..LogOptions::new(crate::support::clock()) };
    let log = Log::on_storage(Box::new(Small(1_000_000.into())), LogMode::Group, options).unwrap();
    let database = loaded::<C>(Some(Arc::new(log)));
    let mut worker = database.worker();
    let large =
        worker.transact(|tables| (0..50).try_for_each(|key| tables.insert(RECEIPTS, key, &[1; 8])));
    assert!(matches!(large, Err(Failure::Log(LogError::TooLarge { .. }))));
    worker.transact(|tables| tables.insert(RECEIPTS, 7, &[1; 8])).unwrap();
    let found = worker.transact(|tables| tables.read(RECEIPTS, 8, &mut [0; 8]));
    assert!(!found.unwrap(), "{}: rolled back", C::KIND.name());
}

#[test]
fn a_transaction_too_large_for_the_log_is_rolled_back_and_others_go_on() {
    every_kind!(too_large());
}

/// The test that starts this very binary again. Emulated, a process may not start another: this runs
/// on this machine and starts the binary `ASSAY_BINARY`, by means of `ASSAY_RUNNER`.
mod spawning {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use super::*;

    const PATH: &str = "ASSAY_TRANSACTION_KILL_LOG";
    const KIND: &str = "ASSAY_TRANSACTION_KILL_KIND";
    const MODE: &str = "ASSAY_TRANSACTION_KILL_MODE";
    const ROUND: &str = "ASSAY_TRANSACTION_KILL_ROUND";
    const KILLS: u64 = 24;
    const THREADS: u64 = 2;

    fn work<C: ConcurrencyControl>(path: &Path, mode: LogMode, round: u64) {
        let options = LogOptions {
            flush_every: Duration::from_millis(2),
            ..LogOptions::new(crate::support::clock())
        };
        let log = if path.exists() {
            let scratch = loaded::<C>(None);
            let recovered = recover_into(path, &mut scratch.load()).unwrap();
            Log::append_to(&recovered, mode, options).unwrap()
        } else {
            Log::create(path, mode, options).unwrap()
        };
        let database = loaded::<C>(Some(Arc::new(log)));
        if std::fs::metadata(path).unwrap().len() > 0 {
            recover_into(path, &mut database.load()).unwrap();
        }
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let database = &database;
                scope.spawn(move || {
                    let mut worker = database.worker();
                    let mut random = Random(round * 77 + thread + 1);
                    for count in 0.. {
                        let receipt = (round * THREADS + thread) << 32 | count;
                        let seed = random.below(1 << 50) + 1;
                        worker
                            .transact(|tables| transfer(tables, receipt, &mut Random(seed)))
                            .unwrap();
                        if writeln!(std::io::stdout(), "committed {receipt}").is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }

    /// Does nothing unless started by the other test.
    #[test]
    fn child() {
        let Ok(path) = std::env::var(PATH) else { return };
        let mode = std::env::var(MODE).unwrap();
        let mode = LogMode::ALL.into_iter().find(|one| one.name() == mode).unwrap();
        let round: u64 = std::env::var(ROUND).unwrap().parse().unwrap();
        let path = PathBuf::from(path);
        match std::env::var(KIND).unwrap().as_str() {
            "no-wait" => work::<NoWait>(&path, mode, round),
            "wait-die" => work::<WaitDie>(&path, mode, round),
            "optimistic" => work::<Optimistic>(&path, mode, round),
            "multi-version" => work::<MultiVersion>(&path, mode, round),
            other => panic!("{other}"),
        }
    }

    fn kill(path: &Path, kind: &str, mode: LogMode, round: u64, delay: Duration) -> Vec<u64> {
        let runner = std::env::var("ASSAY_RUNNER").unwrap_or_default();
        let binary = std::env::var_os("ASSAY_BINARY").map(PathBuf::from);
        let binary = binary.unwrap_or_else(|| std::env::current_exe().unwrap());
        let mut words = runner.split_ascii_whitespace().map(PathBuf::from).chain([binary]);
        let mut child = Command::new(words.next().unwrap())
            .args(words)
            .args(["--exact", "durability::spawning::child", "--nocapture"])
            .env(PATH, path)
            .env(KIND, kind)
            .env(MODE, mode.name())
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut lines = BufReader::new(output);
            let mut line = String::new();
            // A line without its end was cut by the kill.
            while lines.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n') {
                if let Some(receipt) = line.trim_end().strip_prefix("committed ") {
                    let _ = sender.send(receipt.parse::<u64>().unwrap());
                }
                line.clear();
            }
        });
        let mut committed = vec![receiver.recv_timeout(Duration::from_secs(60)).unwrap()];
        std::thread::sleep(delay);
        child.kill().unwrap();
        assert!(child.wait().unwrap().code().is_none(), "the child ended before it was killed");
        reader.join().unwrap();
        committed.extend(receiver.iter());
        committed
    }

    #[test]
    fn what_was_acknowledged_survives_every_kill_and_no_money_is_lost() {
        const KINDS: [&str; 4] = ["no-wait", "wait-die", "optimistic", "multi-version"];
        const MODES: [LogMode; 4] =
            [LogMode::PerCommit, LogMode::Group, LogMode::PrivateGroup, LogMode::Asynchronous];
        let kills =
            std::env::var("ASSAY_TRANSACTION_KILLS").map_or(KILLS, |text| text.parse().unwrap());
        let folder =
            std::env::temp_dir().join(format!("assay-transactions-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut random = Random(std::process::id().into());
        let mut acknowledged = Vec::new();
        for round in 0..kills {
            // Four kills of the same log, each kind once, in one mode after the other.
            let path = folder.join(format!("log-{}", round / 4));
            if round % 4 == 0 {
                acknowledged.clear();
            }
            let mode = MODES[(round % 16 / 4) as usize];
            let kind = KINDS[((round + round / 16) % 4) as usize];
            let delay = Duration::from_micros(random.below(20_000));
            let committed = kill(&path, kind, mode, round, delay);
            if mode.is_durable() {
                acknowledged.extend(committed);
            }
            let (sum, receipts) = replayed::<Optimistic>(&path);
            assert_eq!(sum, ACCOUNT_COUNT * FIRST_BALANCE, "{kind} {} round {round}", mode.name());
            let lost: Vec<_> =
                acknowledged.iter().filter(|receipt| !receipts.contains_key(receipt)).collect();
            assert!(lost.is_empty(), "{kind} {} round {round}: lost {lost:?}", mode.name());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
