//! What the races share: arguments, turns whose order rotates, lines of JSON.
#![allow(dead_code)] // Each race uses its own part of this.

pub mod contend;

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

/// Bytes between two looks at the clock.
const CHUNK: usize = 1 << 20;

/// Someone in a race: each call is a turn, and gives a value where more is better.
pub struct Contestant<'a> {
    /// The name in the lines.
    pub name: &'a str,
    /// One turn.
    pub run: Box<dyn Fn() -> f64 + 'a>,
}

/// `ROUNDS MILLISECONDS CASE...` from the command line.
pub fn arguments() -> Result<(usize, Duration, Vec<usize>), Box<dyn std::error::Error>> {
    let arguments: Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|one| one.parse()).collect();
    let arguments = arguments?;
    let [rounds, milliseconds, cases @ ..] = arguments.as_slice() else {
        return Err("ROUNDS MILLISECONDS CASE...".into());
    };
    Ok((*rounds, Duration::from_millis(*milliseconds as u64), cases.to_vec()))
}

/// Lets everybody run once a round, beginning with another each time, and writes each value.
pub fn race(case: &str, rounds: usize, contestants: &[Contestant<'_>]) -> std::io::Result<()> {
    for round in 0..rounds {
        for turn in 0..contestants.len() {
            let contestant = &contestants[(turn + round) % contestants.len()];
            write(case, round, contestant.name, (contestant.run)())?;
        }
    }
    Ok(())
}

/// Writes one value as a line.
pub fn write(case: &str, round: usize, name: &str, value: f64) -> std::io::Result<()> {
    let line = json!({"case": case, "round": round, "name": name, "value": value});
    writeln!(std::io::stdout().lock(), "{line}")
}

/// Goes over a buffer of `bytes` again and again; GB/s, 1e9 bytes a second.
pub fn gb_per_s(bytes: usize, time: Duration, once: impl Fn()) -> f64 {
    let calls = (CHUNK / bytes).max(1);
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < time {
        for _ in 0..calls {
            once();
        }
        done += calls;
    }
    (done * bytes) as f64 / start.elapsed().as_secs_f64() / 1e9
}
