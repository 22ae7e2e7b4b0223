//! Times every kind of plan on one query, SUM(column + k) as written, in turns.
//!
//! `race_plans ROUNDS MILLISECONDS ROWS` writes one JSON line per round and contestant:
//! `{"case", "round", "name", "value"}`, the value in 1e6 rows a second. The order inside a round
//! rotates. benchmarks/primitives.py reads it and decides.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use assay_plans::{COLUMN_OF_SUMS, Plan, PlanKind, Query, Rewrite, Table, compile, hits_like};
use serde_json::json;

const SEED: u64 = 1;

fn rows_per_us(plan: &dyn Plan, table: &Table, time: Duration) -> f64 {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < time {
        black_box(plan.run(black_box(table)));
        done += table.rows();
    }
    done as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|one| one.parse()).collect();
    let [rounds, milliseconds, rows] = arguments?[..] else {
        return Err("race_plans ROUNDS MILLISECONDS ROWS".into());
    };
    let table = hits_like(SEED, rows);
    let query = Query::sums(COLUMN_OF_SUMS, 2);
    let mut plans = Vec::new();
    for kind in PlanKind::ALL {
        plans.push((kind.name(), compile(kind, Rewrite::Off, &query, table.schema())?));
    }
    let expected = plans[0].1.run(&table);
    let mut output = std::io::stdout().lock();
    for round in 0..rounds {
        for turn in 0..plans.len() {
            let (name, plan) = &plans[(turn + round) % plans.len()];
            if plan.run(&table) != expected {
                return Err(format!("{name} computes something else").into());
            }
            let value = rows_per_us(&**plan, &table, Duration::from_millis(milliseconds as u64));
            let line = json!({"case": "SUM(c + k)", "round": round, "name": name, "value": value});
            writeln!(output, "{line}")?;
        }
    }
    Ok(())
}
