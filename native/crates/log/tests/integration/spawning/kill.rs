//! A child commits; the parent kills it at some moment, recovers, and starts the next child on the
//! same file, in the next mode.
//!
//! SIGKILL leaves the page cache alone, so this tests that nothing is acknowledged before it is
//! written, that recovery and continuing are right at any moment, and not that syncs reach the
//! medium: for that see `a_durable_commit_is_in_the_synced_bytes_when_it_returns`.
//!
//! `ASSAY_LOG_KILLS=200 cargo test -p assay-log --release --test integration kill` kills more often.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use assay_log::{Acknowledged, Log, LogMode, Options, recover};

use crate::common::{Folder, LOGGING, Owned, Transaction, options, read};

const FILE: &str = "ASSAY_LOG_KILL_FILE";
const MODE: &str = "ASSAY_LOG_KILL_MODE";
const ROUND: &str = "ASSAY_LOG_KILL_ROUND";
const WRITERS: u64 = 3;

/// A TID says which writer of which round made it, and as its how-manieth.
fn tid_of(round: u64, writer: u64, number: u64) -> u64 {
    (round * WRITERS + writer) << 32 | number
}

/// What a transaction writes follows from its TID.
fn writes_of(tid: u64) -> Vec<Owned> {
    let row =
        |key: u64| (key != 2).then(|| vec![(tid ^ key) as u8; (tid * 31 + key) as usize % 700]);
    (0..=tid % 4).map(|key| (key as u16, tid, row(key))).collect()
}

/// Does nothing unless started by `kill`.
#[test]
fn child() {
    let Ok(path) = std::env::var(FILE) else { return };
    let mode = std::env::var(MODE).unwrap();
    let mode = LOGGING.into_iter().find(|one| one.name() == mode).unwrap();
    let round: u64 = std::env::var(ROUND).unwrap().parse().unwrap();
    let options = Options { flush_every: Duration::from_millis(2), ..options() };
    let log = match Path::new(&path).exists() {
        true => Log::append_to(&recover(&path, &mut |_| ()).unwrap(), mode, options).unwrap(),
        false => Log::create(&path, mode, options).unwrap(),
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &log;
            scope.spawn(move || commit_until_killed(log, round, writer));
        }
    });
}

fn commit_until_killed(log: &Log, round: u64, writer: u64) {
    let mut worker = log.worker();
    for number in 0.. {
        let tid = tid_of(round, writer, number);
        for (table, key, row) in writes_of(tid) {
            match row {
                Some(row) => worker.put(table, key, &row),
                None => worker.delete(table, key),
            }
        }
        let got = worker.commit(tid).unwrap();
        assert_eq!(matches!(got, Acknowledged::Durable(_)), log.mode().is_durable());
        if writeln!(std::io::stdout(), "committed {tid}").is_err() {
            return;
        }
    }
}

/// Runs a child and kills it; returns what it was told is committed.
fn kill(path: &Path, mode: LogMode, round: u64, wait_for_first: bool, delay: Duration) -> Vec<u64> {
    let mut child = super::this_binary()
        .args(["--exact", "spawning::kill::child", "--nocapture"])
        .env(FILE, path)
        .env(MODE, mode.name())
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        // A line without its end was cut by the kill.
        while output.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n') {
            if let Some(tid) = line.trim_end().strip_prefix("committed ") {
                let _ = sender.send(tid.parse::<u64>().unwrap());
            }
            line.clear();
        }
    });
    let mut committed = Vec::new();
    if wait_for_first {
        committed.push(receiver.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    std::thread::sleep(delay);
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "the child ended before it was killed");
    reader.join().unwrap();
    committed.extend(receiver.iter());
    committed
}

/// Every record is as it was written, none twice, and each writer's records have no gap.
fn check(found: &[Transaction]) -> HashSet<u64> {
    let mut next: HashMap<u64, u64> = HashMap::new();
    for (tid, writes) in found {
        assert_eq!(*writes, writes_of(*tid));
        let number = next.entry(tid >> 32).or_default();
        assert_eq!(tid & 0xFFFF_FFFF, *number, "a gap or a record out of order");
        *number += 1;
    }
    found.iter().map(|one| one.0).collect()
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let kills = std::env::var("ASSAY_LOG_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut random = seed | 1;
    let folder = Folder::new();
    let mut path = folder.file("log-0");
    let (mut durable, mut before) = (Vec::new(), Vec::new());
    for round in 0..kills {
        let mode = LOGGING[round as usize % LOGGING.len()];
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let delay = Duration::from_micros((random >> 33) % 30_000);
        let committed = kill(&path, mode, round, round % 5 != 4, delay);
        if mode.is_durable() {
            durable.extend(committed);
        }
        if !path.exists() {
            continue;
        }
        let (recovered, found) = read(&path);
        let tids = check(&found);
        assert_eq!(recovered.records as usize, tids.len());
        let lost: Vec<_> = durable.iter().filter(|tid| !tids.contains(tid)).collect();
        assert!(lost.is_empty(), "seed {seed}, round {round}, {}: lost {lost:?}", mode.name());
        assert!(found.starts_with(&before), "seed {seed}: what was recovered once has changed");
        before = found;
        if round % 8 == 7 {
            path = folder.file(&format!("log-{round}"));
            (durable, before) = (Vec::new(), Vec::new());
        }
    }
}
