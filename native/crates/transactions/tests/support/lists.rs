//! Lists that transactions append to and read, and the verdict of `adya`, a checker in the manner
//! of Elle that knows nothing but what clients saw.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use adya::{History, Opts, Report, Workload, check};
use assay_transactions::{Abort, ConcurrencyControl, Database, Transaction, Worker};
use assay_workload::tables::{TableId, Tables};

use crate::support::Random;

pub const TABLE: TableId = TableId(0);
/// A length, then the elements.
pub const WORDS: usize = 100;

/// How much is done.
#[derive(Clone, Copy)]
pub struct Load {
    pub threads: u64,
    pub transactions: u64,
    pub yields: bool,
}

/// Transactions on three keys at a time.
const HOT: u64 = 3;
/// Transactions of a thread after which the next keys follow, before the lists are full.
const TURN: u64 = 15;

fn keys(load: Load) -> u64 {
    (load.transactions / TURN + 1) * HOT
}

/// Empty lists.
pub fn load_lists<C: ConcurrencyControl>(database: &Database<C>, load: Load) {
    let mut loader = database.load();
    (0..keys(load)).for_each(|key| loader.row(TABLE, key, &[0; WORDS * 8]).unwrap());
}

fn read_list<C: ConcurrencyControl>(
    tables: &mut Transaction<'_, C>,
    key: u64,
    for_update: bool,
) -> Result<Vec<u64>, Abort> {
    let mut row = [0; WORDS * 8];
    let is_there = if for_update {
        tables.read_for_update(TABLE, key, &mut row)?
    } else {
        tables.read(TABLE, key, &mut row)?
    };
    assert!(is_there);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let words: Vec<u64> = row.chunks_exact(8).map(word).collect();
    Ok(words[1..=words[0] as usize].to_vec())
}

fn append<C: ConcurrencyControl>(
    tables: &mut Transaction<'_, C>,
    key: u64,
    element: u64,
) -> Result<(), Abort> {
    let mut list = read_list(tables, key, element.is_multiple_of(2))?;
    list.push(element);
    let mut words = vec![list.len() as u64];
    words.extend(list);
    words.resize(WORDS, 0);
    let row: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    tables.write(TABLE, key, &row)
}

/// One line per event, with its place in the order of all.
type Line = (u64, String);

fn client<C: ConcurrencyControl>(
    mut worker: Worker<'_, C>,
    order: &AtomicU64,
    load: Load,
    process: u64,
    seed: u64,
) -> Vec<Line> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (process + 1));
    let mut lines = Vec::new();
    for number in 0..load.transactions {
        let steps: Vec<(u64, bool)> = (0..2 + random.below(3))
            .map(|_| (number / TURN * HOT + random.below(HOT), random.below(2) == 0))
            .collect();
        let element = |step: usize| (number * load.threads + process) * 8 + step as u64 + 1;
        let show = |reads: &[Vec<u64>]| {
            let mut text = String::new();
            for (step, (key, is_append)) in steps.iter().enumerate() {
                let comma = if step == 0 { "" } else { "," };
                if *is_append {
                    write!(text, "{comma}[\"append\",{key},{}]", element(step)).unwrap();
                } else {
                    let list = reads.get(step).map_or("null".to_owned(), |l| format!("{l:?}"));
                    write!(text, "{comma}[\"r\",{key},{list}]").unwrap();
                }
            }
            text
        };
        let mut log = |kind: &str, value: String| {
            let place = order.fetch_add(1, Ordering::SeqCst);
            let line = format!("{{\"type\":\"{kind}\",\"process\":{process},\"value\":[{value}]}}");
            lines.push((place, line));
        };
        log("invoke", show(&[]));
        let run = |tables: &mut Transaction<'_, C>| {
            let mut reads = Vec::new();
            for (step, (key, is_append)) in steps.iter().enumerate() {
                if *is_append {
                    append(tables, *key, element(step))?;
                    reads.push(Vec::new());
                } else {
                    reads.push(read_list(tables, *key, false)?);
                }
                if load.yields {
                    thread::yield_now();
                }
            }
            Ok(reads)
        };
        let is_reader = steps.iter().all(|(_, is_append)| !is_append);
        let reads = if is_reader { worker.read_only(run) } else { worker.transact(run) };
        log("ok", show(&reads.unwrap()));
    }
    lines
}

/// What `adya` says about a run, against strict serialisability.
pub fn verdict<C: ConcurrencyControl>(database: &Database<C>, load: Load, seed: u64) -> Report {
    let order = AtomicU64::new(0);
    let mut lines = Vec::new();
    thread::scope(|scope| {
        let order = &order;
        let start = |process| {
            let worker = database.worker();
            scope.spawn(move || client(worker, order, load, process, seed))
        };
        let running: Vec<_> = (0..load.threads).map(start).collect();
        running.into_iter().for_each(|thread| lines.extend(thread.join().unwrap()));
    });
    lines.sort_unstable();
    let text: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    let history = History::from_json(&text.join("\n")).unwrap();
    let models = vec!["strict-serializable".to_owned()];
    check(&history, Workload::ListAppend, &Opts { models, ..Opts::default() })
}
