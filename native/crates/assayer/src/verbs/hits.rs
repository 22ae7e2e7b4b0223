//! `hits`: the rows of the workload of that name as a file, and its statements as texts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use assay_load::hits::{answers, queries, schema};
use assay_workload::hits::{Parameters, Plan};

use super::typed;
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::HitsRequest;
use crate::protocol::response::HitsFile;

/// Lines are written when so many bytes of them have come together.
const BUFFER_BYTES: usize = 1 << 20;

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let HitsRequest { rows, seed, to } = typed(request)?;
    let plan = Plan::new(Parameters { rows, seed })?;
    let begun = Instant::now();
    let bytes = match to {
        Some(path) => write(&plan, &path).map_err(|error| Failure::Missing {
            message: format!("{}: {error}", path.display()),
            next: "give a path in a folder that is there, can be written and has room".to_owned(),
        })?,
        None => Some(0),
    };
    let queries: BTreeMap<_, _> = queries::all(&plan)
        .into_iter()
        .enumerate()
        .map(|(place, query)| (answers::name(place), query.text))
        .collect();
    output.write(
        "result",
        &HitsFile {
            complete: bytes.is_some(),
            rows,
            bytes: bytes.unwrap_or(0),
            seconds: begun.elapsed().as_secs_f64(),
            create: schema::create_table(schema::TABLE),
            queries,
        },
    )
}

/// Writes all rows; how many bytes they are, or none when stopped. A file that is not whole is
/// removed.
fn write(plan: &Plan, path: &Path) -> std::io::Result<Option<u64>> {
    let file = File::create(path)?;
    let is_file = file.metadata()?.is_file();
    let written = write_rows(plan, file);
    if is_file && !matches!(written, Ok(Some(_))) {
        std::fs::remove_file(path)?;
    }
    written
}

fn write_rows(plan: &Plan, file: File) -> std::io::Result<Option<u64>> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
    let (mut scratch, mut line, mut bytes) = (String::new(), Vec::new(), 0);
    for row in 0..plan.parameters().rows {
        line.clear();
        plan.row(row).write_tsv(&mut scratch, &mut line);
        bytes += line.len() as u64;
        file.write_all(&line)?;
        if life::stop_flag().load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    file.flush()?;
    Ok(Some(bytes))
}
