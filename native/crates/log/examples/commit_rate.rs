//! Commits per second of every mode with 1, 2 and 4 workers, on the disk of a folder:
//! `cargo run -p assay-log --release --example commit_rate [FOLDER] [MILLISECONDS]`.
//!
//! A look at the modes, not a measurement: one run each, no check for other load.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_log::{Log, LogError, LogMode, Options, WriterCounts};
use assay_primitives::Clock;

const WRITES: u64 = 4;

fn work(log: &Log, worker: u64, until: Instant) -> Result<WriterCounts, LogError> {
    let mut writer = log.worker();
    let mut tid = worker;
    while Instant::now() < until {
        for key in 0..WRITES {
            writer.put(1, key, &[7; 100]);
        }
        writer.commit(tid)?;
        tid += 4;
    }
    Ok(writer.counts())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let milliseconds = arguments.next().map_or(Ok(500), |text| text.parse())?;
    let options = Options::new(Clock::calibrated());
    let mut out = std::io::stdout();
    for mode in LogMode::ALL {
        for workers in [1, 2, 4] {
            let path = folder.join(format!("assay-log-rate-{}", std::process::id()));
            let log = Log::create(&path, mode, options)?;
            let start = Instant::now();
            let until = start + Duration::from_millis(milliseconds);
            let counts = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..workers)
                    .map(|worker| {
                        scope.spawn({
                            let log = &log;
                            move || work(log, worker, until)
                        })
                    })
                    .collect();
                let mut sum = WriterCounts::default();
                for thread in threads {
                    sum.add(&thread.join().expect("a worker does not panic")?);
                }
                Ok::<_, LogError>(sum)
            })?;
            let rate = counts.commits as f64 / start.elapsed().as_secs_f64();
            let log = log.close()?;
            writeln!(
                out,
                "{:13} {workers} workers: {rate:10.0} commits/s, {} commits, {} syncs, \
                 largest group {}, lock waits {}",
                mode.name(),
                counts.commits,
                log.syncs,
                log.group_records_max,
                counts.lock.waits
            )?;
            if mode != LogMode::None {
                std::fs::remove_file(&path)?;
            }
        }
    }
    Ok(())
}
